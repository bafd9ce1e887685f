package engine_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

var serviceAccounts = schema.GroupVersionResource{Version: "v1", Resource: "serviceaccounts"}

// patchRule is a rule called r for Notes, with these patches.
func patchRule(patches string) string {
	return "apiVersion: kanon.dev/v1alpha1\nkind: Rule\nmetadata: {name: r}\nspec:\n  parent: {apiVersion: $GROUP/v1, kind: Note}\n" +
		"  patches:\n" + strings.ReplaceAll("  "+strings.TrimSpace(patches), "\n", "\n  ") + "\n"
}

// applied makes an object as a manager of its own would apply it.
func (w *world) applied(gvr schema.GroupVersionResource, manager, text string) *unstructured.Unstructured {
	w.t.Helper()
	obj := w.object(text)
	body, err := json.Marshal(obj.Object)
	if err != nil {
		w.t.Fatal(err)
	}
	force := true
	made, err := w.at(gvr, obj.GetNamespace()).Patch(w.t.Context(), obj.GetName(), types.ApplyPatchType, body,
		metav1.PatchOptions{FieldManager: manager, Force: &force})
	if err != nil {
		w.t.Fatalf("apply %s %s: %v", obj.GetKind(), obj.GetName(), err)
	}
	return made
}

const appDeployment = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: app, namespace: $HOME}
spec:
  replicas: 3
  selector: {matchLabels: {app: app}}
  template:
    metadata: {labels: {app: app}}
    spec: {containers: [{name: app, image: "app:1"}]}
`

// patchManagersOf lists the field managers of an object that have something of patches.
func patchManagersOf(obj *unstructured.Unstructured) []string {
	var found []string
	for _, e := range obj.GetManagedFields() {
		if strings.HasPrefix(e.Manager, "kanon-patch-") || e.Manager == "kanon-taken" {
			found = append(found, e.Manager)
		}
	}
	return found
}

// writesSince are the engine's writes to objects of a resource, or to one, as RESOURCE/NAME.
func (w *world) writesSince(from int, resource string) []string {
	return slices.DeleteFunc(w.requests.since(from), func(r string) bool {
		return strings.HasPrefix(r, "GET ") || !strings.Contains(r+"/", "/"+resource+"/")
	})
}

func label(name string) func(*unstructured.Unstructured) bool {
	return has("true", "metadata", "labels", name)
}

// Many parents patch one target without undoing each other, by one manager; what one of
// them contributed goes with it, and the rest with the rule.
func TestPatchesOfManyParents(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "Note")
	w.rule("r", patchRule(`
- id: tag-namespace
  target: {apiVersion: v1, kind: Namespace, name: "${parent.metadata.namespace}"}
  template: {metadata: {labels: {has-notes: "true", "note-${parent.metadata.name}": "true"}}}
`))
	stop := w.run()
	const parents = 30
	for i := range parents {
		w.parent("Note", fmt.Sprint("n", i), "{}")
	}
	for i := range parents {
		w.await(w.resource("Note"), w.home, fmt.Sprint("n", i), "is ready", isTrue("Ready"))
	}
	home := w.get(namespaces, "", w.home)
	for i := range parents {
		if !label(fmt.Sprint("note-n", i))(home) {
			t.Errorf("the label of parent %d is missing", i)
		}
	}
	if got := patchManagersOf(home); len(got) != 1 {
		t.Errorf("managers of patches are %q, want one", got)
	}

	w.delete(w.resource("Note"), w.home, "n7")
	home = w.await(namespaces, "", w.home, "has no label of n7", func(obj *unstructured.Unstructured) bool { return !label("note-n7")(obj) })
	if !label("has-notes")(home) || !label("note-n8")(home) {
		t.Errorf("labels of others went with n7: %v", home.GetLabels())
	}
	w.quiet()

	stop()
	w.delete(w.resource("Note"), w.home, "n8") // while nobody looks
	from := w.requests.count()
	w.run()
	w.await(namespaces, "", w.home, "has no label of n8", func(obj *unstructured.Unstructured) bool { return !label("note-n8")(obj) })
	w.quiet()
	if got := w.writesSince(from, "v1/namespaces/"+w.home); len(got) != 1 {
		t.Errorf("writes after the restart: %q, want one", got)
	}
	if got := w.writesSince(from, "notes"); len(got) != 0 {
		t.Errorf("writes to parents after the restart: %q", got)
	}
}

// A container joins a Deployment's pod template by its name, and an imagePullSecret a
// ServiceAccount; both leave what others have, and go without a trace.
func TestPatchesMergeByListKeys(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "Note")
	before := w.applied(deployments, "owner", appDeployment)
	w.create(serviceAccounts, w.object("apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: app, namespace: $HOME}\nimagePullSecrets: [{name: theirs}]\n"))
	w.rule("r", patchRule(`
- id: sidecar
  target: {apiVersion: apps/v1, kind: Deployment, name: app}
  template: {spec: {template: {spec: {containers: [{name: "${parent.metadata.name}", image: "proxy:1"}]}}}}
- id: pull
  target: {apiVersion: v1, kind: ServiceAccount, name: app}
  template: {imagePullSecrets: [{name: "${parent.metadata.name}"}]}
`))
	w.run()
	w.parent("Note", "one", "{}")
	w.parent("Note", "two", "{}")
	for _, name := range []string{"one", "two"} {
		w.await(w.resource("Note"), w.home, name, "is ready", isTrue("Ready"))
	}
	if got := namesIn(w.get(deployments, w.home, "app"), "spec", "template", "spec", "containers"); !slices.Equal(got, []string{"app", "one", "two"}) {
		t.Errorf("the containers are %q", got)
	}
	if got := namesIn(w.get(serviceAccounts, w.home, "app"), "imagePullSecrets"); !slices.Equal(got, []string{"one", "theirs", "two"}) {
		t.Errorf("the secrets are %q", got)
	}
	w.delete(w.resource("Note"), w.home, "one")
	w.delete(w.resource("Note"), w.home, "two")
	after := w.await(deployments, w.home, "app", "is as it was", func(obj *unstructured.Unstructured) bool {
		return len(patchManagersOf(obj)) == 0
	})
	if got, want := fmt.Sprint(after.Object["spec"]), fmt.Sprint(before.Object["spec"]); got != want {
		t.Errorf("the Deployment is now\n%s\nand was\n%s", got, want)
	}
	account := w.await(serviceAccounts, w.home, "app", "is as it was", func(obj *unstructured.Unstructured) bool {
		return len(patchManagersOf(obj)) == 0
	})
	if got := namesIn(account, "imagePullSecrets"); !slices.Equal(got, []string{"theirs"}) {
		t.Errorf("the secrets are %q", got)
	}
}

// namesIn are the names of the items of a list, sorted.
func namesIn(obj *unstructured.Unstructured, path ...string) []string {
	list, _, _ := unstructured.NestedSlice(obj.Object, path...)
	var names []string
	for _, item := range list {
		fields, _ := item.(map[string]any)
		names = append(names, fmt.Sprint(fields["name"]))
	}
	slices.Sort(names)
	return names
}

// A field that was taken from another manager gets back what it had, without a default
// in between, and belongs to that manager again: when a parent goes, when the rule is
// changed, and when what was set is the same by then.
func TestPatchGivesBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "Note")
	w.applied(deployments, "owner", appDeployment)
	rule := patchRule(`
- id: scale
  target: {apiVersion: apps/v1, kind: Deployment, name: app}
  when: ${parent.spec.?on.orValue(true)}
  template: {spec: {replicas: "${parent.spec.replicas}", minReadySeconds: 7, template: {spec: {containers: [{name: app, image: "app:2"}]}}}}
`)
	w.rule("r", rule)
	w.run()
	least := w.leastReplicas("app")
	w.parent("Note", "one", "{replicas: 5}")
	w.await(w.resource("Note"), w.home, "one", "is ready", isTrue("Ready"))
	live := w.get(deployments, w.home, "app")
	if field(live, "spec", "replicas") != int64(5) || image(live) != "app:2" {
		t.Fatalf("the patch is not in place: %v", live.Object["spec"])
	}
	if live.GetAnnotations()["kanon.dev/taken"] == "" {
		t.Error("nothing is remembered of what was taken")
	}
	// Others keep on changing what is theirs; what the patch sets later is no first take.
	w.patch(w.resource("Note"), w.home, "one", `{"spec":{"replicas":3}}`)
	w.await(deployments, w.home, "app", "has 3 replicas", has(int64(3), "spec", "replicas"))
	w.quiet()

	w.patch(w.resource("Note"), w.home, "one", `{"spec":{"on":false}}`)
	live = w.await(deployments, w.home, "app", "is released", func(obj *unstructured.Unstructured) bool { return len(patchManagersOf(obj)) == 0 })
	if field(live, "spec", "replicas") != int64(3) || image(live) != "app:1" {
		t.Errorf("it was not given back: %v", live.Object["spec"])
	}
	if field(live, "spec", "minReadySeconds") != nil {
		t.Errorf("what only the patch had is there still: %v", live.Object["spec"])
	}
	if _, there := live.GetAnnotations()["kanon.dev/taken"]; there {
		t.Error("the annotation is there still")
	}
	if !slices.ContainsFunc(live.GetManagedFields(), func(e metav1.ManagedFieldsEntry) bool {
		return e.Manager == "owner" && strings.Contains(e.FieldsV1.GetRawString(), `"f:replicas"`)
	}) {
		t.Errorf("replicas do not belong to their owner: %v", live.GetManagedFields())
	}

	w.patch(w.resource("Note"), w.home, "one", `{"spec":{"on":true,"replicas":9}}`)
	w.await(deployments, w.home, "app", "has 9 replicas", has(int64(9), "spec", "replicas"))
	w.delete(w.resource("Note"), w.home, "one")
	w.await(deployments, w.home, "app", "has 3 replicas again", has(int64(3), "spec", "replicas"))
	if got := least(); got < 3 {
		t.Errorf("there were %d replicas in between", got)
	}
}

// A value that somebody set after the patch, and that was reverted, is not restored when the patch ends. If its author
// removes a value that the patch took, that is not restored either.
func TestPatchRestoresNothingThatCameLater(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.define("Note")
	w.applied(configMaps, "owner", `{apiVersion: v1, kind: ConfigMap, metadata: {name: target, namespace: $HOME, annotations: {had: before}}}`)
	w.rule("r", patchRule(`
- id: mark
  target: {apiVersion: v1, kind: ConfigMap, name: target}
  template: {metadata: {annotations: {lacked: "true", had: "true"}}}
`))
	w.run()
	w.parent("Note", "one", "{}")
	set := func(name, value string) {
		t.Helper()
		w.patch(configMaps, w.home, "target", `{"metadata":{"annotations":{"`+name+`":`+value+`}}}`)
		w.await(configMaps, w.home, "target", "has the patch", func(o *unstructured.Unstructured) bool {
			return o.GetAnnotations()["lacked"] == "true" && o.GetAnnotations()["had"] == "true"
		})
		w.quiet()
	}
	set("other", `"x"`)
	set("lacked", `"false"`)
	set("lacked", "null")
	set("had", "null")
	w.delete(w.resource("Note"), w.home, "one")
	live := w.await(configMaps, w.home, "target", "is released", func(o *unstructured.Unstructured) bool { return len(patchManagersOf(o)) == 0 })
	if diff := cmp.Diff(map[string]string{"other": "x"}, live.GetAnnotations()); diff != "" {
		t.Errorf("annotations (-want +got)\n%s", diff)
	}
}

func image(obj *unstructured.Unstructured) any {
	containers, _, _ := unstructured.NestedSlice(obj.Object, "spec", "template", "spec", "containers")
	first, _ := containers[0].(map[string]any)
	return first["image"]
}

// leastReplicas watches a Deployment from now on; what it returns tells the fewest
// replicas that it ever had.
func (w *world) leastReplicas(name string) func() int64 {
	w.t.Helper()
	watcher, err := w.at(deployments, w.home).Watch(w.t.Context(), metav1.ListOptions{FieldSelector: "metadata.name=" + name})
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(watcher.Stop)
	return func() int64 {
		last := w.get(deployments, w.home, name)
		least := int64(1000)
		for event := range watcher.ResultChan() {
			obj, ok := event.Object.(*unstructured.Unstructured)
			if !ok {
				return -1
			}
			if n, ok := field(obj, "spec", "replicas").(int64); ok {
				least = min(least, n)
			}
			if obj.GetResourceVersion() == last.GetResourceVersion() {
				break
			}
		}
		return least
	}
}
