package deploy_test

import (
	"errors"
	"flag"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/yaml"

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

// TestProfiles applies each profile, and runs the program from its arguments and under its rights with an example.
func TestProfiles(t *testing.T) {
	plane := controlplanetest.Start(t, controlplanetest.Options{
		Controllers: []string{"namespace", "garbage-collector", "clusterrole-aggregation-controller"},
	})
	client, err := kubernetes.NewForConfig(plane.Config)
	if err != nil {
		t.Fatal(err)
	}
	cluster := kanontest.NewCluster(t, plane.Config)
	foo := loadExamples(t)[0]
	for _, profile := range []string{"aggregated", "admin"} {
		t.Run(profile, func(t *testing.T) {
			cluster := cluster.For(t)
			apply := exec.CommandContext(t.Context(), plane.Kubectl, "--kubeconfig", plane.Kubeconfig, "apply", "-f", "-")
			text := render(t, "profiles/"+profile)
			apply.Stdin = strings.NewReader(text)
			if output, err := apply.CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, output)
			}
			if profile == "aggregated" {
				cluster.Apply(aggregatedRole(t))
			}
			args := append(argumentsOf(t, text), "--kubeconfig", kubeconfigOf(t, client, plane.Config))
			kanon := kanontest.Start(t, args...)
			cluster.Apply(foo.kinds...)
			cluster.ApplyRules(namespace, foo.name, foo.rule)
			cluster.AwaitVerdict(namespace, foo.name, true, "")
			cluster.Apply(foo.parent)
			for _, want := range foo.want { // that they become ready is the affair of controllers that do not run here
				cluster.Await(want, func(*unstructured.Unstructured) error { return nil })
			}
			cluster.Delete(foo.parent) // with its children
			for _, want := range foo.want {
				cluster.AwaitGone(want)
			}
			if profile == "aggregated" {
				cluster.Delete(kanontest.Ref("rbac.authorization.k8s.io/v1", "ClusterRoleBinding", "kanon-aggregated"))
			}
			if err := kanon.Stop(); err != nil {
				t.Error(err)
			}
		})
	}
}

// aggregatedRole is the role of the examples as one that is aggregated.
func aggregatedRole(t *testing.T) *unstructured.Unstructured {
	t.Helper()
	for _, object := range kanontest.ReadManifest(t, "rbac-examples.yaml") {
		if object.GetKind() == "ClusterRole" {
			object.SetLabels(map[string]string{"kanon.dev/aggregate-to-kanon": "true"})
			return object
		}
	}
	t.Fatal("rbac-examples.yaml has no ClusterRole")
	return nil
}

// argumentsOf are those of the Deployment among rendered objects.
func argumentsOf(t *testing.T, text string) []string {
	t.Helper()
	for document := range strings.SplitSeq(text, "\n---\n") {
		var deployment appsv1.Deployment
		if err := yaml.Unmarshal([]byte(document), &deployment); err == nil && deployment.Kind == "Deployment" {
			return deployment.Spec.Template.Spec.Containers[0].Args
		}
	}
	t.Fatal("no Deployment was rendered")
	return nil
}

// checkPriority reads the Lease as Kanon does, and another object, and compares the priorities that the API server gives the requests.
func checkPriority(t *testing.T, client kubernetes.Interface, kubeconfig string) {
	t.Helper()
	schema, err := client.FlowcontrolV1().FlowSchemas().Get(t.Context(), "kanon-leader-election", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	var seen string
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			response, err := next.RoundTrip(r)
			if err == nil {
				seen = response.Header.Get("X-Kubernetes-Pf-Flowschema-Uid")
			}
			return response, err
		})
	})
	kanon, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = kanon.CoordinationV1().Leases(namespace).Get(t.Context(), "kanon", metav1.GetOptions{}) // it need not exist
	if seen != string(schema.UID) {
		t.Errorf("the Lease is read by the FlowSchema %s, want %s", seen, schema.UID)
	}
	if _, err := kanon.CoreV1().ConfigMaps(namespace).List(t.Context(), metav1.ListOptions{}); err != nil || seen == string(schema.UID) {
		t.Error(errors.Join(err, errors.New("ConfigMaps are read by the same one")))
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
