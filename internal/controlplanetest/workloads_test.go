package controlplanetest

import (
	"context"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
)

// waitLimit bounds waits for what takes a second or two on a quiet machine.
const waitLimit = 2 * time.Minute

func TestVersion(t *testing.T) {
	client := kubernetes.NewForConfigOrDie(Config(t))
	version, err := client.Discovery().ServerVersion()
	if err != nil {
		t.Fatal(err)
	}
	if version.GitVersion != "v1.37.2" || version.Major != "1" || version.Minor != "37" {
		t.Errorf("the API server calls itself %s (%s.%s), want v1.37.2 (1.37)", version.GitVersion, version.Major, version.Minor)
	}
}

func TestSharedIsOne(t *testing.T) {
	first, second := Config(t), Config(t)
	if first == second {
		t.Error("two tests were given one configuration, so one can change the other's")
	}
	if first.Host != second.Host {
		t.Errorf("two control planes were started: %s and %s", first.Host, second.Host)
	}
	if first.Insecure || len(first.CAData) == 0 {
		t.Error("the configuration does not check the server's certificate")
	}
}

// TestWorkloads shows that what kubectl applies gets ready on the fake nodes.
func TestWorkloads(t *testing.T) {
	const pod = `
    metadata: {labels: {app: %[1]s}}
    spec: {containers: [{name: main, image: example.com/image}]}
`
	const selector = `
  selector: {matchLabels: {app: %[1]s}}
  template:` + pod
	tests := map[string]string{
		"deployment":  "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: %[1]s}\nspec:\n  replicas: 3" + selector,
		"statefulset": "apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: %[1]s}\nspec:\n  replicas: 2\n  serviceName: none" + selector,
		"daemonset":   "apiVersion: apps/v1\nkind: DaemonSet\nmetadata: {name: %[1]s}\nspec:" + selector,
	}
	namespace := Namespace(t, Config(t))
	for kind, manifest := range tests {
		t.Run(kind, func(t *testing.T) {
			name := "of-" + kind
			kubectl(t, fmt.Sprintf(manifest, name), "--namespace", namespace, "apply", "-f", "-")
			kubectl(t, "", "--namespace", namespace, "rollout", "status", kind+"/"+name, "--timeout", waitLimit.String())
			output := kubectl(t, "", "--namespace", namespace, "get", kind, name, "-o", "jsonpath={.metadata.managedFields[*].manager}")
			managers := slices.Sorted(strings.FieldsSeq(output))
			if want := []string{"kube-controller-manager", "kubectl-client-side-apply"}; !slices.Equal(managers, want) {
				t.Errorf("its fields are managed by %q, want %q", managers, want)
			}
		})
	}
}

// kubectl runs kubectl against the shared control plane and returns its output.
func kubectl(t *testing.T, input string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), Kubectl(t), append([]string{"--kubeconfig", Kubeconfig(t)}, args...)...)
	cmd.Stdin = strings.NewReader(input)
	output, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, output)
	}
	return string(output)
}

// TestGarbageCollection shows that a child goes with its parent, also when the
// parent's kind is only a moment old.
func TestGarbageCollection(t *testing.T) {
	config := Config(t)
	client := dynamic.NewForConfigOrDie(config)
	configMaps := schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	things := installThings(t, client)
	tests := map[string]struct {
		resource   schema.GroupVersionResource
		apiVersion string
		kind       string
	}{
		"built-in parent": {configMaps, "v1", "ConfigMap"},
		"new custom kind": {things, things.GroupVersion().String(), "Thing"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			namespace := Namespace(t, config)
			parents := client.Resource(test.resource).Namespace(namespace)
			children := client.Resource(configMaps).Namespace(namespace)
			parent := create(t, parents, newObject(test.apiVersion, test.kind, "parent"))
			child := newObject("v1", "ConfigMap", "child")
			child.SetOwnerReferences([]metav1.OwnerReference{{
				APIVersion: test.apiVersion, Kind: test.kind, Name: parent.GetName(), UID: parent.GetUID(),
			}})
			child = create(t, children, child)
			if err := parents.Delete(t.Context(), parent.GetName(), metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
			waitDeleted(t, children, child)
		})
	}
}

// installThings creates a CustomResourceDefinition and returns its resource as
// soon as the API server takes objects of it.
func installThings(t *testing.T, client dynamic.Interface) schema.GroupVersionResource {
	t.Helper()
	things := schema.GroupVersionResource{Group: "controlplanetest.kanon.dev", Version: "v1", Resource: "things"}
	definitions := client.Resource(schema.GroupVersionResource{
		Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions",
	})
	definition := newObject("apiextensions.k8s.io/v1", "CustomResourceDefinition", things.GroupResource().String())
	definition.Object["spec"] = map[string]any{
		"group": things.Group,
		"scope": "Namespaced",
		"names": map[string]any{"kind": "Thing", "plural": things.Resource},
		"versions": []any{map[string]any{
			"name": things.Version, "served": true, "storage": true,
			"schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object"}},
		}},
	}
	definition = create(t, definitions, definition)
	t.Cleanup(func() {
		if err := definitions.Delete(context.Background(), definition.GetName(), metav1.DeleteOptions{}); err != nil {
			t.Errorf("delete definition: %v", err)
		}
	})
	waitFor(t, definitions, definition, func(event watch.Event) bool {
		conditions, _, _ := unstructured.NestedSlice(event.Object.(*unstructured.Unstructured).Object, "status", "conditions")
		for _, condition := range conditions {
			if fields := condition.(map[string]any); fields["type"] == "Established" && fields["status"] == "True" {
				return true
			}
		}
		return false
	})
	return things
}

func newObject(apiVersion, kind, name string) *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	object.SetAPIVersion(apiVersion)
	object.SetKind(kind)
	object.SetName(name)
	return object
}

func create(t *testing.T, client dynamic.ResourceInterface, object *unstructured.Unstructured) *unstructured.Unstructured {
	t.Helper()
	made, err := client.Create(t.Context(), object, metav1.CreateOptions{})
	if err != nil {
		t.Fatalf("create %s %s: %v", object.GetKind(), object.GetName(), err)
	}
	return made
}

func waitDeleted(t *testing.T, client dynamic.ResourceInterface, object *unstructured.Unstructured) {
	t.Helper()
	waitFor(t, client, object, func(event watch.Event) bool { return event.Type == watch.Deleted })
	if _, err := client.Get(t.Context(), object.GetName(), metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("%s %s is still there (%v)", object.GetKind(), object.GetName(), err)
	}
}

// waitFor watches an object, from the version given, until an event satisfies.
func waitFor(t *testing.T, client dynamic.ResourceInterface, object *unstructured.Unstructured, done func(watch.Event) bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), waitLimit)
	defer cancel()
	events, err := client.Watch(ctx, metav1.ListOptions{
		FieldSelector:   fields.OneTermEqualSelector("metadata.name", object.GetName()).String(),
		ResourceVersion: object.GetResourceVersion(),
	})
	if err != nil {
		t.Fatalf("watch %s: %v", object.GetName(), err)
	}
	defer events.Stop()
	for event := range events.ResultChan() {
		if done(event) {
			return
		}
	}
	t.Fatalf("nothing that was waited for happened to %s %s in %s", object.GetKind(), object.GetName(), waitLimit)
}
