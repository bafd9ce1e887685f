package controlplanetest

import (
	"bufio"
	"encoding/json"
	"errors"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// small are the settings with the fewest processes.
func small() Options {
	return Options{Controllers: []string{"garbage-collector", "namespace"}, Nodes: new(int)}
}

func TestAuditLog(t *testing.T) {
	o := small()
	o.AuditLog = filepath.Join(t.TempDir(), "audit.log")
	plane := Start(t, o)

	config := rest.CopyConfig(plane.Config)
	config.UserAgent = "auditor"
	client := kubernetes.NewForConfigOrDie(config)
	if _, err := client.CoreV1().ConfigMaps("default").List(t.Context(), metav1.ListOptions{}); err != nil {
		t.Fatal(err)
	}
	type event struct{ Stage, Verb, UserAgent, RequestURI string }
	var seen []event
	file, err := os.Open(o.AuditLog)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		var e event
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			t.Fatalf("decode %q: %v", lines.Text(), err)
		}
		if e.UserAgent == "auditor" {
			seen = append(seen, e)
		}
	}
	want := event{"ResponseComplete", "list", "auditor", "/api/v1/namespaces/default/configmaps"}
	if len(seen) != 1 || seen[0] != want {
		t.Errorf("the audit log tells of %+v, want only %+v", seen, want)
	}
}

// TestNothingIsLeft shows that all processes end with the control plane, also
// when it has no chance to end them.
func TestNothingIsLeft(t *testing.T) {
	tests := map[string]struct {
		options    Options
		components int
		end        func(*ControlPlane)
	}{
		"stop":    {small(), 4, (*ControlPlane).Stop},
		"SIGTERM": {small(), 4, func(p *ControlPlane) { signalAndWait(t, p, syscall.SIGTERM) }},
		"SIGKILL": {Options{}, 6, func(p *ControlPlane) { signalAndWait(t, p, syscall.SIGKILL) }},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			// What a killed one leaves in its directory goes with the test.
			test.options.Dir = t.TempDir()
			before := goleak.IgnoreCurrent()
			plane := Start(t, test.options)
			goleak.VerifyNone(t, before) // or tests could not look for leaks of their own
			root := plane.command.Process.Pid
			components := children(t, root)
			if len(components) != test.components {
				t.Errorf("%d components run, want %d: %+v", len(components), test.components, components)
			}
			test.end(plane)
			waitEnded(t, root)
			for _, component := range components {
				waitEnded(t, component.pid)
			}
		})
	}
}

// signalAndWait does not care how the process ends.
func signalAndWait(t *testing.T, p *ControlPlane, signal os.Signal) {
	t.Helper()
	if err := p.command.Process.Signal(signal); err != nil {
		t.Fatal(err)
	}
	_ = p.command.Wait()
}

// TestComponentDies shows that the control plane ends, and says why, when one of
// its components does. It is one that no other needs, so that none can end before
// the first is missed.
func TestComponentDies(t *testing.T) {
	plane := Start(t, small())
	components := children(t, plane.command.Process.Pid)
	i := slices.IndexFunc(components, func(c observed) bool { return strings.Contains(c.command, " kube-controller-manager ") })
	if i < 0 {
		t.Fatalf("none of %+v is the controller manager", components)
	}
	if err := syscall.Kill(components[i].pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	var exit *exec.ExitError
	if err := plane.command.Wait(); !errors.As(err, &exit) || exit.ExitCode() != 1 {
		t.Errorf("the control plane ended with %v, want exit status 1", err)
	}
	said, err := os.ReadFile(filepath.Join(plane.dir, "stderr"))
	if err != nil {
		t.Fatal(err)
	}
	if want := "kube-controller-manager ended by itself: signal: killed"; !strings.Contains(string(said), want) {
		t.Errorf("its error is %q, want %q in it", said, want)
	}
}

// TestFailingStart shows that a control plane that cannot start says why.
func TestFailingStart(t *testing.T) {
	tests := map[string]struct {
		options Options
		want    []string
	}{
		"wrong argument of a component": {
			options: Options{APIArgs: []string{"--no-such-flag"}},
			want:    []string{"kube-apiserver ended by itself", "kube-apiserver.log", "unknown flag: --no-such-flag"},
		},
		"component gives up": {
			options: Options{APIArgs: []string{"--tls-cert-file=/does/not/exist"}},
			want:    []string{"kube-apiserver ended by itself", "/does/not/exist"},
		},
		"unknown controller": {
			options: Options{Controllers: []string{"nonsense"}},
			want:    []string{`unknown controller "nonsense"`, "garbage-collector-controller"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			plane, err := start(Binary(t), test.options)
			if err == nil {
				plane.Stop()
				t.Fatal("it started")
			}
			for _, want := range test.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("the error does not tell of %q:\n%v", want, err)
				}
			}
		})
	}
}

// TestDirIsContinued shows that a control plane started in a used directory has
// the objects of the one before.
func TestDirIsContinued(t *testing.T) {
	o := small()
	o.Dir = t.TempDir()
	first := Start(t, o)
	client := kubernetes.NewForConfigOrDie(first.Config).CoreV1().ConfigMaps("default")
	kept := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "kept"}}
	if _, err := client.Create(t.Context(), kept, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	first.Stop()

	second := Start(t, o)
	client = kubernetes.NewForConfigOrDie(second.Config).CoreV1().ConfigMaps("default")
	if _, err := client.Get(t.Context(), "kept", metav1.GetOptions{}); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(o.Dir, "logs", "kube-apiserver.log")); err != nil {
		t.Error(err)
	}
}

// TestTwoAtOnce shows that control planes do not get in one another's way.
func TestTwoAtOnce(t *testing.T) {
	first, second := Start(t, small()), Start(t, small())
	for _, plane := range []*ControlPlane{first, second} {
		if address, err := url.Parse(plane.Config.Host); err != nil || address.Hostname() != "127.0.0.1" {
			t.Errorf("the API server is at %s, want a port of 127.0.0.1", plane.Config.Host)
		}
		Namespace(t, plane.Config)
	}
	if first.Config.Host == second.Config.Host {
		t.Errorf("both API servers are at %s", first.Config.Host)
	}
}

func TestLockFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	unlock, err := lockFile(path)
	if err != nil {
		t.Fatal(err)
	}
	other, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = other.Close() }()
	tryLock := func() error { return syscall.Flock(int(other.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) }
	if err := tryLock(); !errors.Is(err, syscall.EWOULDBLOCK) {
		t.Errorf("a second lock gave %v, want %v", err, syscall.EWOULDBLOCK)
	}
	unlock()
	if err := tryLock(); err != nil {
		t.Errorf("a lock after the first was released gave %v", err)
	}
}

func TestNamedBinary(t *testing.T) {
	present := filepath.Join(t.TempDir(), "controlplane")
	if err := os.WriteFile(present, nil, 0o700); err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		path string
		ok   bool
	}{
		"present":  {present, true},
		"relative": {"bin/controlplane", false},
		"absent":   {present + "-2", false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Setenv(BinaryVariable, test.path)
			path, err := buildBinary()
			if ok := err == nil; ok != test.ok {
				t.Fatalf("error %v, want one: %v", err, !test.ok)
			}
			if test.ok && path != test.path {
				t.Errorf("binary %q, want %q", path, test.path)
			}
		})
	}
}
