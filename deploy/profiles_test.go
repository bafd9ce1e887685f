package deploy_test

import (
	"context"
	"errors"
	"flag"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"kanon.dev/kanon/internal/controlplanetest"
	"kanon.dev/kanon/internal/kanontest"
)

var update = flag.Bool("update", false, "write deploy/install.yaml")

// render is what kustomize makes of a directory.
func render(t *testing.T, dir string) string {
	t.Helper()
	kubectl := exec.CommandContext(t.Context(), controlplanetest.Kubectl(t), "kustomize", dir)
	kubectl.Stderr = os.Stderr
	text, err := kubectl.Output()
	if err != nil {
		t.Fatalf("kubectl kustomize %s: %v", dir, err)
	}
	return string(text)
}

// TestInstallManifest: install.yaml is the base in one file.
func TestInstallManifest(t *testing.T) {
	const header = "# Made of deploy/base by make install.yaml; do not edit.\n"
	want := header + render(t, "base")
	if *update {
		if err := os.WriteFile("install.yaml", []byte(want), 0o644); err != nil { //nolint:gosec // for everybody to read
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile("install.yaml"); err != nil || string(got) != want {
		t.Errorf("install.yaml is not what deploy/base makes: run make install.yaml (%v)", err)
	}
}

// TestMonitoring: what is for the Prometheus operator is added to the base.
func TestMonitoring(t *testing.T) {
	dir := t.TempDir()
	here, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"base", "components"} { // kustomize reads nothing above its directory by absolute paths
		if err := os.CopyFS(filepath.Join(dir, part), os.DirFS(filepath.Join(here, part))); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "mine"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "mine", "kustomization.yaml"), []byte("resources: [../base]\ncomponents: [../components/monitoring]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	text := render(t, filepath.Join(dir, "mine"))
	for _, kind := range []string{"ServiceMonitor", "PrometheusRule", "Deployment"} {
		if !strings.Contains(text, "\nkind: "+kind+"\n") {
			t.Errorf("there is no %s in\n%s", kind, text)
		}
	}
}

// profile is a way to install Kanon.
type profile struct {
	name    string
	install func(t *testing.T, plane *controlplanetest.ControlPlane)
	// grants are what the rules need, where it comes on top.
	grants func(t *testing.T) []*unstructured.Unstructured
	// played are the examples that are played.
	played []kanontest.Example
}

// profiles are all of them but that for tenants, which TestTenants installs. The chart comes first, because it takes over no object that
// it did not make. Each RBAC profile is played with all examples once; where the other way to install it has the same rights, which
// TestChartIsTheBase holds, with a few of them.
func profiles(all []kanontest.Example) []profile {
	exact := func(t *testing.T) []*unstructured.Unstructured {
		t.Helper()
		return kanontest.LeastRights(t, all)
	}
	aggregated := func(t *testing.T) []*unstructured.Unstructured {
		t.Helper()
		roles := kanontest.OfKind("ClusterRole", kanontest.LeastRights(t, all))
		for _, role := range roles {
			role.SetLabels(map[string]string{"kanon.dev/aggregate-to-kanon": "true"})
		}
		return roles
	}
	none := func(*testing.T) []*unstructured.Unstructured { return nil }
	chart := func(profile string) func(t *testing.T, plane *controlplanetest.ControlPlane) {
		return func(t *testing.T, plane *controlplanetest.ControlPlane) {
			t.Helper()
			newHelm(t).must(t, "upgrade", "--install", "kanon", "chart", "--namespace", namespace, "--create-namespace",
				"--kubeconfig", plane.Kubeconfig, "--set", "rbac.profile="+profile)
		}
	}
	kustomize := func(dir string) func(t *testing.T, plane *controlplanetest.ControlPlane) {
		return func(t *testing.T, plane *controlplanetest.ControlPlane) {
			t.Helper()
			mustKubectl(t, plane, "apply", "-k", dir)
		}
	}
	few := all[:3]
	return []profile{
		{"chart, exact", chart("exact"), exact, all},
		{"chart, aggregated", chart("aggregated"), aggregated, few},
		{"chart, admin", chart("admin"), none, few},
		{"kustomize, aggregated", kustomize("profiles/aggregated"), aggregated, all},
		{"kustomize, admin", kustomize("profiles/admin"), none, all},
	}
}

// TestProfiles installs each profile, and runs the program from its arguments and under its rights with all examples, each with its
// scenario. Between two profiles the rules stay, as they do when somebody changes the profile.
func TestProfiles(t *testing.T) {
	controlplanetest.Nightly(t)
	plane := controlplanetest.Start(t, controlplanetest.Options{})
	client, err := kubernetes.NewForConfig(plane.Config)
	if err != nil {
		t.Fatal(err)
	}
	cluster := kanontest.NewCluster(t, plane.Config)
	all := kanontest.Examples(t, "../examples")
	for _, e := range all {
		cluster.Apply(e.Kinds...) // an administrator does: the rights of Kanon are the least
	}
	isChart := false
	for _, p := range profiles(all) {
		t.Run(p.name, func(t *testing.T) {
			wasChart := isChart
			if isChart = strings.HasPrefix(p.name, "chart"); wasChart && !isChart {
				uninstallChart(cluster.For(t), plane)
			}
			p.install(t, plane)
			checkPriority(t, client, kubeconfigOf(t, client, plane.Config))
			runProfile(t, cluster.For(t), client, plane, p, all)
		})
	}
}

// runProfile runs the program as the Deployment of a profile says, and plays the examples.
func runProfile(t *testing.T, cluster *kanontest.Cluster, client kubernetes.Interface, plane *controlplanetest.ControlPlane, p profile, all []kanontest.Example) {
	t.Helper()
	grants := p.grants(t)
	cluster.Apply(grants...)
	forgetVerdicts(cluster, all)
	kanon := kanontest.Start(t, append(installedArguments(t, client), "--kubeconfig", kubeconfigOf(t, client, plane.Config))...)
	for _, e := range all {
		cluster.ApplyRules(namespace, e.Name, e.Rule)
	}
	for _, e := range all {
		cluster.AwaitVerdict(namespace, e.Name, true, "")
	}
	p.install(t, plane) // again, as an upgrade does: it takes no right away that was granted
	kanontest.PlayAll(t, p.played, func(t *testing.T, _ kanontest.Example) *kanontest.Cluster {
		t.Helper()
		return cluster.In(t, controlplanetest.Namespace(t, plane.Config))
	})
	awaitTerminated(cluster)
	if err := kanon.Stop(); err != nil {
		t.Error(err)
	}
	for _, grant := range grants {
		cluster.Delete(grant)
	}
	for _, name := range []string{"kanon-aggregated", "kanon-admin"} { // the next profile has other rights
		mustKubectl(t, plane, "delete", "clusterrolebinding", name, "--ignore-not-found")
	}
}

// forgetVerdicts removes what the Kanon of the profile before has reported on the rules.
func forgetVerdicts(cluster *kanontest.Cluster, all []kanontest.Example) {
	cluster.Helper()
	for _, e := range all {
		rule := kanontest.Ref("v1", "ConfigMap", e.Name)
		rule.SetNamespace(namespace)
		if cluster.IsThere(rule) {
			cluster.Patch(rule, `{"metadata": {"annotations": {"kanon.dev/status": null}}}`)
		}
	}
}

// awaitTerminated waits until no namespace of a fixed name is being deleted: the scenarios of the next profile need them again.
func awaitTerminated(cluster *kanontest.Cluster) {
	cluster.Helper()
	for _, ns := range cluster.List("v1", "Namespace", "") {
		if ns.GetDeletionTimestamp() != nil && ns.GetGenerateName() == "" {
			cluster.AwaitGone(&ns)
		}
	}
}

// uninstallChart uninstalls the release. The kind Rule stays, and so do the rules.
func uninstallChart(cluster *kanontest.Cluster, plane *controlplanetest.ControlPlane) {
	cluster.Helper()
	newHelm(cluster.TB).must(cluster.TB, "uninstall", "kanon", "--namespace", namespace, "--kubeconfig", plane.Kubeconfig)
	cluster.AwaitGone(kanontest.Ref("rbac.authorization.k8s.io/v1", "ClusterRole", "kanon"))
	if !cluster.IsThere(kanontest.Ref("apiextensions.k8s.io/v1", "CustomResourceDefinition", "rules.kanon.dev")) {
		cluster.Error("the kind Rule went with the release, and all rules with it")
	}
}

// mustKubectl runs kubectl as the administrator.
func mustKubectl(tb testing.TB, plane *controlplanetest.ControlPlane, args ...string) string {
	tb.Helper()
	output, err := exec.CommandContext(tb.Context(), plane.Kubectl, append([]string{"--kubeconfig", plane.Kubeconfig}, args...)...).CombinedOutput()
	if err != nil {
		tb.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, output)
	}
	return string(output)
}

// installedArguments are those of the Deployment in the cluster, with ports that are free.
func installedArguments(tb testing.TB, client kubernetes.Interface) []string {
	tb.Helper()
	deployment, err := client.AppsV1().Deployments(namespace).Get(tb.Context(), "kanon", metav1.GetOptions{})
	if err != nil {
		tb.Fatal(err)
	}
	return append(deployment.Spec.Template.Spec.Containers[0].Args, "--metrics-bind-address=127.0.0.1:0", "--health-probe-bind-address=127.0.0.1:0")
}

// checkPriority sends requests as Kanon does, and compares which FlowSchema and which priority the API server gives them.
func checkPriority(t *testing.T, client kubernetes.Interface, kubeconfig string) {
	t.Helper()
	flows := client.FlowcontrolV1()
	election, err1 := flows.FlowSchemas().Get(t.Context(), "kanon-leader-election", metav1.GetOptions{})
	others, err2 := flows.FlowSchemas().Get(t.Context(), "kanon", metav1.GetOptions{})
	electionLevel, err3 := flows.PriorityLevelConfigurations().Get(t.Context(), "leader-election", metav1.GetOptions{})
	ownLevel, err4 := flows.PriorityLevelConfigurations().Get(t.Context(), "kanon", metav1.GetOptions{})
	config, err5 := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err := errors.Join(err1, err2, err3, err4, err5); err != nil {
		t.Fatal(err)
	}
	type priority struct{ schema, level types.UID }
	var got priority
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			response, err := next.RoundTrip(r)
			if err == nil {
				got = priority{
					types.UID(response.Header.Get(flowcontrolv1.ResponseHeaderMatchedFlowSchemaUID)),
					types.UID(response.Header.Get(flowcontrolv1.ResponseHeaderMatchedPriorityLevelConfigurationUID)),
				}
			}
			return response, err
		})
	})
	kanon, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	// What is answered does not matter: the object need not exist, nor be allowed.
	send := map[string]func(){
		"the Lease": func() { _, _ = kanon.CoordinationV1().Leases(namespace).Get(t.Context(), "kanon", metav1.GetOptions{}) },
		"a ConfigMap that is created": func() {
			_, _ = kanon.CoreV1().ConfigMaps("default").Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: "a-"}}, metav1.CreateOptions{})
		},
		"a list of all Deployments": func() { _, _ = kanon.AppsV1().Deployments("").List(t.Context(), metav1.ListOptions{}) },
		"a Lease of others": func() {
			_, _ = kanon.CoordinationV1().Leases("kube-system").Get(t.Context(), "kanon", metav1.GetOptions{})
		},
		"the version of the server": func() { _, _ = kanon.Discovery().ServerVersion() },
	}
	for name, request := range send {
		want := priority{others.UID, ownLevel.UID}
		if name == "the Lease" {
			want = priority{election.UID, electionLevel.UID}
		}
		// The API server goes by a FlowSchema a moment after it was stored.
		if err := wait.PollUntilContextTimeout(t.Context(), 200*time.Millisecond, 4*time.Minute, true, func(context.Context) (bool, error) {
			got = priority{} // a request that gets no response has none
			request()
			return got == want, nil
		}); err != nil {
			t.Errorf("%s has the FlowSchema and priority %v, want %v", name, got, want)
		}
	}
}

// checkDispatched checks by the API server's own metrics that the requests of a running Kanon went by both FlowSchemas, and that none
// was rejected.
func checkDispatched(t *testing.T, kubectl func(...string) string) {
	t.Helper()
	metrics := kubectl("get", "--raw", "/metrics")
	for schema, level := range map[string]string{"kanon": "kanon", "kanon-leader-election": "leader-election"} {
		dispatched := regexp.MustCompile(`(?m)^apiserver_flowcontrol_dispatched_requests_total\{flow_schema="` + schema + `",priority_level="` + level + `"\} [1-9]`)
		if !dispatched.MatchString(metrics) {
			t.Errorf("no request went by the FlowSchema %s to the priority %s", schema, level)
		}
	}
	if rejected := regexp.MustCompile(`(?m)^apiserver_flowcontrol_rejected_requests_total\{flow_schema="kanon.*`).FindString(metrics); rejected != "" {
		t.Errorf("requests of Kanon were rejected: %s", rejected)
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
