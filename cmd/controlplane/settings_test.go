package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	"k8s.io/kubernetes/cmd/kube-controller-manager/app/options"
	"sigs.k8s.io/kwok/kustomize/stage/node/fast"
	podfast "sigs.k8s.io/kwok/kustomize/stage/pod/fast"
	"sigs.k8s.io/kwok/pkg/apis/internalversion"
)

func TestResolveControllers(t *testing.T) {
	tests := map[string]struct {
		given []string
		want  []string // nil: an error
	}{
		"default":    {nil, defaultControllers()},
		"short":      {[]string{"garbage-collector", "namespace"}, []string{"garbage-collector-controller", "namespace-controller"}},
		"full":       {[]string{"job-controller"}, []string{"job-controller"}},
		"unknown":    {[]string{"nonsense"}, nil},
		"everything": {[]string{"*"}, nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := resolveControllers(test.given)
			if (err != nil) != (test.want == nil) || !slices.Equal(got, test.want) {
				t.Errorf("got %v, %v; want %v", got, err, test.want)
			}
		})
	}
	if _, err := resolveControllers(defaultControllers()); err != nil {
		t.Errorf("a default controller is not one that Kubernetes has: %v", err)
	}
}

func TestOptions(t *testing.T) {
	foreign := filepath.Join(t.TempDir(), "foreign")
	content := "apiVersion: v1\nkind: Config\nclusters: [{name: production, cluster: {server: 'https://example.com'}}]\n"
	if err := os.WriteFile(foreign, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(t.TempDir(), "other")
	if err := os.WriteFile(other, []byte("not a kubeconfig"), 0o600); err != nil {
		t.Fatal(err)
	}
	fresh := filepath.Join(t.TempDir(), "fresh")
	tests := map[string]struct {
		options Options
		want    string // in the error; empty: none
	}{
		"least":            {Options{Kubeconfig: fresh}, ""},
		"no kubeconfig":    {Options{}, "--kubeconfig is required"},
		"other cluster":    {Options{Kubeconfig: foreign}, `"production"`},
		"other file":       {Options{Kubeconfig: other}, "may be overwritten"},
		"negative nodes":   {Options{Kubeconfig: fresh, Nodes: -1}, "--nodes must not be negative"},
		"negative timeout": {Options{Kubeconfig: fresh, StartTimeout: -time.Second}, "--start-timeout must not be negative"},
		"controller":       {Options{Kubeconfig: fresh, Controllers: []string{"x"}}, "unknown controller"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			completed, err := test.options.complete()
			if test.want != "" {
				if err == nil || !strings.Contains(err.Error(), test.want) {
					t.Errorf("error %v, want %q in it", err, test.want)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if completed.StartTimeout != defaultStartTimeout || len(completed.Controllers) == 0 {
				t.Errorf("defaults are missing in %+v", completed)
			}
		})
	}
}

// TestOwnKubeconfigIsReplaced: a file from an earlier run may be overwritten.
func TestOwnKubeconfigIsReplaced(t *testing.T) {
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := writeKubeconfig(path, (&credentials{}).kubeconfig("https://127.0.0.1:1", adminName)); err != nil {
		t.Fatal(err)
	}
	if err := checkKubeconfigPath(path); err != nil {
		t.Error(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v; want that only the owner can read it", info.Mode(), err)
	}
}

func TestLayout(t *testing.T) {
	temporary, err := newLayout("")
	if err != nil {
		t.Fatal(err)
	}
	kept, err := newLayout(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	long, err := newLayout(filepath.Join(t.TempDir(), strings.Repeat("long", 30)))
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		layout *layout
		stays  bool
	}{
		"temporary": {temporary, false},
		"kept":      {kept, true},
		"long path": {long, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if len(test.layout.etcdSocket()) > longestSocket {
				t.Errorf("%s is too long for a socket", test.layout.etcdSocket())
			}
			if info, err := os.Stat(test.layout.sockets); err != nil || info.Mode().Perm() != 0o700 {
				t.Errorf("others can enter the directory of the sockets (%v, %v)", info, err)
			}
			if err := test.layout.remove(); err != nil {
				t.Fatal(err)
			}
			if _, err := os.Stat(test.layout.sockets); err == nil {
				t.Error("the sockets are left behind")
			}
			if _, err := os.Stat(test.layout.root); (err == nil) != test.stays {
				t.Errorf("stat of the directory gives %v, want that it stays: %v", err, test.stays)
			}
		})
	}
}

func TestLoadStages(t *testing.T) {
	stages, err := loadStages(fast.DefaultNodeInit, podfast.DefaultPodReady, podfast.DefaultPodComplete, podfast.DefaultPodDelete)
	if err != nil {
		t.Fatal(err)
	}
	for kind, want := range map[string]int{"Node": 1, "Pod": 3} {
		if got := len(stages[internalversion.StageResourceRef{APIGroup: "v1", Kind: kind}]); got != want {
			t.Errorf("%d stages for %s, want %d", got, kind, want)
		}
	}
	if _, err := loadStages("kind: Unknown"); err == nil {
		t.Error("a document that is no stage was accepted")
	}
}

// TestClientLimits: at the defaults of 20 and 5 requests a second, what follows
// from a few thousand objects takes minutes.
func TestClientLimits(t *testing.T) {
	const least = 1000 // per second
	files, err := newLayout(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	path := files.client(garbageCollectorName)
	if err := writeKubeconfig(path, (&credentials{}).kubeconfig("https://127.0.0.1:1", garbageCollectorName)); err != nil {
		t.Fatal(err)
	}
	collector, err := componentConfig(path, garbageCollectorName)
	if err != nil {
		t.Fatal(err)
	}
	if collector.QPS != -1 || collector.RateLimiter != nil {
		t.Errorf("the garbage collector sends %v requests a second, want -1 for no limit", collector.QPS)
	}

	// The controller manager's own flags say what the arguments mean.
	manager, err := options.NewKubeControllerManagerOptions()
	if err != nil {
		t.Fatal(err)
	}
	cmd := &cobra.Command{}
	sets := manager.Flags(controllermanager.KnownControllers(),
		controllermanager.ControllersDisabledByDefault(), controllermanager.ControllerAliases())
	for _, set := range sets.FlagSets {
		cmd.Flags().AddFlagSet(set)
	}
	if err := cmd.ParseFlags(controllerManagerArgs(files, defaultControllers())); err != nil {
		t.Fatal(err)
	}
	if got := manager.Generic.ClientConnection; got.QPS < least || got.Burst < least {
		t.Errorf("the controller manager sends %v requests a second and %d at once, want at least %d", got.QPS, got.Burst, least)
	}
}
