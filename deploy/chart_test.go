package deploy_test

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kanon.dev/kanon/internal/kanontest"
)

// helm is the one that internal/tools/go.mod pins.
type helm struct{ path, home string }

// helmPath builds helm, once: each of several builds at a time would compile all of it.
var helmPath = sync.OnceValues(func() ([]byte, error) {
	return exec.CommandContext(context.Background(), "go", "tool", "-modfile=../internal/tools/go.mod", "-n", "helm").Output()
})

func newHelm(tb testing.TB) *helm {
	tb.Helper()
	path, err := helmPath()
	if err != nil {
		tb.Fatalf("build helm: %v", err)
	}
	return &helm{path: strings.TrimSpace(string(path)), home: tb.TempDir()} // it keeps nothing in the home of the user
}

// run runs it. The error has what it complains of.
func (h *helm) run(tb testing.TB, args ...string) (output string, err error) {
	tb.Helper()
	command := exec.CommandContext(tb.Context(), h.path, args...)
	command.Env = append(os.Environ(), "HELM_CACHE_HOME="+h.home, "HELM_CONFIG_HOME="+h.home, "HELM_DATA_HOME="+h.home)
	var complaint strings.Builder
	command.Stderr = &complaint
	text, err := command.Output()
	if err != nil {
		err = fmt.Errorf("helm %s: %w\n%s", strings.Join(args, " "), err, complaint.String())
	}
	return string(text), err
}

func (h *helm) must(tb testing.TB, args ...string) string {
	tb.Helper()
	output, err := h.run(tb, args...)
	if err != nil {
		tb.Fatal(err)
	}
	return output
}

// render is what the chart makes in a namespace with values.
func (h *helm) render(t *testing.T, namespace string, values ...string) []*unstructured.Unstructured {
	t.Helper()
	args := []string{"template", "kanon", "chart", "--namespace", namespace, "--kube-version", "1.37.0"}
	for _, value := range values {
		args = append(args, "--set-json", value)
	}
	return kanontest.Objects(t, "the chart", []byte(h.must(t, args...)))
}

// byName are objects by kind and name.
func byName(objects []*unstructured.Unstructured) map[string]*unstructured.Unstructured {
	named := make(map[string]*unstructured.Unstructured)
	for _, object := range objects {
		named[object.GetKind()+" "+object.GetName()] = object
	}
	return named
}

// The chart makes, object by object, what kustomize does, for each profile.
func TestChartIsTheBase(t *testing.T) {
	t.Parallel()
	helm := newHelm(t)
	for value, dir := range map[string]string{
		`rbac.profile="exact"`: "base", `rbac.profile="aggregated"`: "profiles/aggregated", `rbac.profile="admin"`: "profiles/admin",
		`tenantRules=true`: "profiles/tenants",
	} {
		t.Run(dir, func(t *testing.T) {
			t.Parallel()
			want := byName(kanontest.Objects(t, dir, []byte(render(t, dir))))
			got := byName(helm.render(t, namespace, value))
			delete(want, "Namespace "+namespace) // helm makes it, with --create-namespace
			for name, object := range got {
				withoutChart(t, object)
				if want[name] == nil {
					t.Errorf("the chart alone has %s", name)
				}
			}
			for name, object := range want {
				if got[name] == nil {
					t.Errorf("the chart has no %s", name)
				} else if diff := cmp.Diff(object.Object, got[name].Object); diff != "" {
					t.Errorf("%s differs from that of kustomize:\n%s", name, diff)
				}
			}
		})
	}
}

// withoutChart takes away what says that an object is of the chart.
func withoutChart(t *testing.T, object *unstructured.Unstructured) {
	t.Helper()
	labels := object.GetLabels()
	for _, name := range []string{"app.kubernetes.io/managed-by", "app.kubernetes.io/version", "helm.sh/chart"} {
		if labels[name] == "" {
			t.Errorf("%s %s has no label %s", object.GetKind(), object.GetName(), name)
		}
		delete(labels, name)
	}
	object.SetLabels(labels)
	if object.GetKind() == "CustomResourceDefinition" {
		if object.GetAnnotations()["helm.sh/resource-policy"] != "keep" {
			t.Errorf("%s goes with the release", object.GetName())
		}
		object.SetAnnotations(nil)
	}
}

func TestChartIsInItsNamespace(t *testing.T) {
	t.Parallel()
	helm := newHelm(t)
	objects := helm.render(t, "elsewhere", `monitoring={"serviceMonitor": true, "alerts": true, "dashboard": true}`)
	for _, object := range objects {
		text, err := object.MarshalJSON()
		if err != nil || strings.Contains(string(text), namespace) && object.GetKind() != "CustomResourceDefinition" {
			t.Errorf("%s %s names %s: %v %s", object.GetKind(), object.GetName(), namespace, err, text)
		}
	}
	if args := argumentsOf(t, byName(objects)["Deployment kanon"]); !slices.Contains(args, "--kanon-namespace=elsewhere") {
		t.Errorf("the arguments are %v", args)
	}
}

// Each value arrives in the objects that it is for.
func TestChartValues(t *testing.T) {
	t.Parallel()
	helm := newHelm(t)
	pod := []string{"spec", "template", "spec"}
	container := func(object *unstructured.Unstructured) map[string]any {
		containers, _, _ := unstructured.NestedSlice(object.Object, append(slices.Clone(pod), "containers")...)
		first, _ := containers[0].(map[string]any)
		return first
	}
	deployment := byName(helm.render(t, namespace,
		`replicas=3`, `image={"repository": "registry.example.com/kanon", "digest": "sha256:`+strings.Repeat("0", 64)+`", "pullPolicy": "Always"}`,
		`imagePullSecrets=[{"name": "pull"}]`, `workers=4`, `verbosity=2`, `logFormat="text"`, `extraArgs=["--max-children=5"]`,
		`extraEnv=[{"name": "OTEL_EXPORTER_OTLP_ENDPOINT", "value": "http://collector:4318"}]`,
		`resources={"limits": {"memory": "2Gi"}}`, `podAnnotations={"a": "1"}`, `podLabels={"team": "x", "app.kubernetes.io/name": "no"}`,
		`priorityClassName="high"`, `nodeSelector={"disk": "ssd"}`, `tolerations=[{"key": "k", "operator": "Exists"}]`,
		`affinity={"nodeAffinity": {}}`, `metrics={"certificateSecret": "tls"}`,
	))["Deployment kanon"]
	want := kanontest.Object(t, `
apiVersion: apps/v1
kind: Deployment
metadata: {name: kanon, namespace: kanon-system}
spec:
  replicas: 3
  template:
    metadata:
      labels: {team: x, app.kubernetes.io/name: kanon}
      annotations: {a: "1"}
    spec:
      imagePullSecrets: [{name: pull}]
      priorityClassName: high
      nodeSelector: {disk: ssd}
      tolerations: [{key: k, operator: Exists}]
      affinity: {nodeAffinity: {}}
      securityContext: {fsGroup: 65532, runAsNonRoot: true}
      volumes: [{name: tls, secret: {secretName: tls}}]
`)
	if differences := kanontest.Differences(want, deployment); len(differences) > 0 {
		t.Error(strings.Join(differences, "\n"))
	}
	got := container(deployment)
	wantContainer := map[string]any{
		"image":           "registry.example.com/kanon@sha256:" + strings.Repeat("0", 64),
		"imagePullPolicy": "Always",
		"args": []any{
			"run", "--log-format=text", "--leader-elect", "--health-probe-bind-address=:8081", "--metrics-bind-address=:8443", "--verbosity=2", "--workers=4",
			"--tls-cert-file=/etc/kanon/tls/tls.crt", "--tls-private-key-file=/etc/kanon/tls/tls.key", "--max-children=5",
		},
		"env": []any{
			map[string]any{"name": "GOMEMLIMIT", "value": "1843MiB"},
			map[string]any{"name": "OTEL_EXPORTER_OTLP_ENDPOINT", "value": "http://collector:4318"},
		},
		"volumeMounts": []any{map[string]any{"name": "tls", "mountPath": "/etc/kanon/tls", "readOnly": true}},
	}
	for field, value := range wantContainer {
		if diff := cmp.Diff(value, got[field]); diff != "" {
			t.Errorf("%s of the container:\n%s", field, diff)
		}
	}
	versioned := byName(helm.render(t, namespace, `image={"repository": "registry.example.com/kanon"}`))["Deployment kanon"]
	if image := container(versioned)["image"]; image != "registry.example.com/kanon:v0.1.0" {
		t.Errorf("the image without a tag is %s", image)
	}
}

// Each switch adds or leaves out its objects, and no others.
func TestChartSwitches(t *testing.T) {
	t.Parallel()
	helm := newHelm(t)
	names := func(values ...string) []string {
		return slices.Sorted(maps.Keys(byName(helm.render(t, namespace, values...))))
	}
	all := names()
	for value, want := range map[string][]string{
		`podDisruptionBudget={"enabled": false}`: {"PodDisruptionBudget kanon"},
		`networkPolicy={"enabled": false}`:       {"NetworkPolicy kanon"},
		`flowControl={"enabled": false}`:         {"FlowSchema kanon", "FlowSchema kanon-leader-election", "PriorityLevelConfiguration kanon"},
		`definition={"install": false}`:          {"CustomResourceDefinition rules.kanon.dev"},
		`monitoring={"serviceMonitor": true}`:    {"ServiceMonitor kanon"},
		`monitoring={"alerts": true}`:            {"PrometheusRule kanon"},
		`monitoring={"dashboard": true}`:         {"ConfigMap kanon-dashboard"},
	} {
		with := names(value)
		var differ []string
		for _, name := range append(slices.Clone(all), with...) {
			if slices.Contains(all, name) != slices.Contains(with, name) {
				differ = append(differ, name)
			}
		}
		if diff := cmp.Diff(want, differ); diff != "" {
			t.Errorf("%s:\n%s", value, diff)
		}
	}
}

// What helm itself finds is nothing, and values that would not work are refused by their names.
func TestChartRefusesBadValues(t *testing.T) {
	t.Parallel()
	helm := newHelm(t)
	if output, err := helm.run(t, "lint", "--strict", "chart"); err != nil || strings.Contains(output, "[WARNING]") {
		t.Errorf("helm lint: %v\n%s", err, output)
	}
	for value, want := range map[string]string{
		`rbac.profile="root"`:                     "at '/rbac/profile': value must be one of 'exact', 'aggregated', 'admin'",
		`tenantRules=true,rbac.profile="admin"`:   "'not' failed",
		`replicas="two"`:                          "at '/replicas': got string, want integer",
		`replicas=-1`:                             "at '/replicas': minimum",
		`replica=3`:                               "additional properties 'replica' not allowed",
		`image.repository=""`:                     "at '/image/repository': minLength",
		`image.digest="abc"`:                      "at '/image/digest'",
		`image.tag="a b"`:                         "at '/image/tag'",
		`resources.limits.memory="512M"`:          "at '/resources/limits/memory'",
		`resources.limits.memory=512`:             "at '/resources/limits/memory': got number, want string",
		`extraArgs=["verbosity=2"]`:               "at '/extraArgs/0'",
		`podLabels={"a": 1}`:                      "at '/podLabels/a': got number, want string",
		`logFormat="xml"`:                         "at '/logFormat'",
		`monitoring.serviceMonitor="yes"`:         "at '/monitoring/serviceMonitor': got string, want boolean",
		`podDisruptionBudget={"maxAvailable": 1}`: "additional properties 'maxAvailable' not allowed",
	} {
		output, err := helm.run(t, "template", "kanon", "chart", "--set-json", value)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s is answered with (%v) %s, want %s", value, err, output, want)
		}
	}
}

// argumentsOf are those of a Deployment's container.
func argumentsOf(t *testing.T, deployment *unstructured.Unstructured) []string {
	t.Helper()
	containers, _, err := unstructured.NestedSlice(deployment.Object, "spec", "template", "spec", "containers")
	if err != nil || len(containers) != 1 {
		t.Fatalf("%d containers: %v", len(containers), err)
	}
	container, _ := containers[0].(map[string]any)
	args, _, err := unstructured.NestedStringSlice(container, "args")
	if err != nil {
		t.Fatal(err)
	}
	return args
}
