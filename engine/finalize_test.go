package engine_test

import (
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kanon.dev/kanon/engine/apply/mark"
)

// stackRule makes two ConfigMaps of each Stack, the second from the first, and while
// the Stack is being deleted a third, which says when the cleanup is done.
const stackRule = `
apiVersion: kanon.dev/v1alpha1
kind: Rule
metadata: {name: stack}
spec:
  parent: {apiVersion: $GROUP/v1, kind: Stack}
  children:
  - id: base
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: "${parent.metadata.name}-base"}
      data: {size: "${parent.spec.size}"}
  - id: top
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: "${parent.metadata.name}-top"}
      data: {size: "${children.base.data.size}", going: "${string(finalizing)}"}
  finalize:
    children:
    - id: backup
      template:
        apiVersion: v1
        kind: ConfigMap
        metadata: {name: "${parent.metadata.name}-backup"}
        data: {of: "${children.top.metadata.name}"}
    until: ${children.backup.data.?done.orValue("") == "yes"}
    timeout: ${parent.spec.timeout}
`

// While its parent is being deleted a rule does what finalize says; then the children
// go one after the other, in reverse order, and the parent last.
func TestFinalize(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "Stack")
	w.rule("stack", stackRule)
	stop := w.run()
	stacks := w.resource("Stack")
	for name, timeout := range map[string]string{"red": "1h", "late": "1s", "stuck": "1s"} {
		w.parent("Stack", name, "{size: small, timeout: "+timeout+"}")
		ready := w.await(stacks, w.home, name, "is ready", isTrue("Ready"))
		if !w.holds("stack")(ready) {
			t.Errorf("the parent is not held: %v", ready.GetFinalizers())
		}
	}
	top := w.get(configMaps, w.home, "red-top")
	if len(top.GetOwnerReferences()) > 0 || field(top, "data", "going") != "false" {
		t.Errorf("before the deletion: %v, %v", top.GetOwnerReferences(), top.Object["data"])
	}
	w.patch(configMaps, w.home, "red-top", `{"metadata":{"finalizers":["example.com/hold"]}}`)

	// Even a deletion in the foreground waits for the rule.
	foreground := metav1.DeletePropagationForeground
	if err := w.at(stacks, w.home).Delete(t.Context(), "red", metav1.DeleteOptions{PropagationPolicy: &foreground}); err != nil {
		t.Fatal(err)
	}
	w.await(configMaps, w.home, "red-backup", "is made", has("red-top", "data", "of"))
	w.await(configMaps, w.home, "red-top", "is kept up to date", has("true", "data", "going"))
	w.await(stacks, w.home, "red", "says that it waits", func(obj *unstructured.Unstructured) bool {
		return conditionField(obj, "Ready", "reason") == "Finalizing" && strings.Contains(conditionField(obj, "Ready", "message"),
			`until is false: children.backup.data.?done.orValue("") == "yes"; it waits for children.backup`)
	})
	w.patch(configMaps, w.home, "red-base", `{"data":{"size":"edited"}}`)
	w.await(configMaps, w.home, "red-base", "is put right", has("small", "data", "size"))

	// The order is kept over a restart.
	w.patch(configMaps, w.home, "red-backup", `{"data":{"done":"yes"}}`)
	w.awaitGone(configMaps, w.home, "red-backup")
	w.await(configMaps, w.home, "red-top", "is on its way out", func(obj *unstructured.Unstructured) bool { return obj.GetDeletionTimestamp() != nil })
	w.await(stacks, w.home, "red", "says what keeps it", func(obj *unstructured.Unstructured) bool {
		return strings.Contains(conditionField(obj, "Ready", "message"), "example.com/hold")
	})
	stop()
	stop = w.run()
	w.awaitLook("red")
	w.quiet()
	if base := w.get(configMaps, w.home, "red-base"); base.GetDeletionTimestamp() != nil {
		t.Error("a child went before the one that was made from it")
	}
	w.patch(configMaps, w.home, "red-top", `{"metadata":{"finalizers":null}}`)
	w.awaitGone(stacks, w.home, "red")
	w.awaitGone(configMaps, w.home, "red-base")

	// One that takes too long stays, and says so.
	w.delete(stacks, w.home, "late")
	skip := "kanon.dev/finalized-" + mark.RuleID(w.kanon, w.kanon, "stack")
	tooLong := func(obj *unstructured.Unstructured) bool {
		return conditionField(obj, "Stalled", "reason") == "FinalizeTimeout" && strings.Contains(conditionField(obj, "Stalled", "message"), skip)
	}
	w.await(stacks, w.home, "late", "says that it takes too long", tooLong)
	w.awaitEvent(w.home, "late", "FinalizeTimeout")
	w.quiet()
	w.get(configMaps, w.home, "late-base")
	w.patch(configMaps, w.home, "late-backup", `{"data":{"done":"yes"}}`)
	w.awaitGone(stacks, w.home, "late")
	w.awaitGone(configMaps, w.home, "late-base")

	// Somebody can end it as the message says, and then the children go all the same.
	w.delete(stacks, w.home, "stuck")
	w.await(stacks, w.home, "stuck", "says that it takes too long", tooLong)
	w.patch(stacks, w.home, "stuck", `{"metadata": {"annotations": {"`+skip+`": "true"}}}`)
	w.awaitGone(stacks, w.home, "stuck")
	for _, child := range []string{"base", "top", "backup"} {
		w.awaitGone(configMaps, w.home, "stuck-"+child)
	}
	stop()
}

// finalize: {} asks for the order alone; without it again, the children are given to
// the garbage collector and the parent is free.
func TestFinalizeInReverse(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "Stack")
	plain, _, _ := strings.Cut(stackRule, "  finalize:")
	w.rule("stack", plain+"  finalize: {}\n")
	w.run()
	stacks := w.resource("Stack")
	for _, name := range []string{"red", "blue"} {
		w.parent("Stack", name, "{size: small}")
		w.await(stacks, w.home, name, "is ready", isTrue("Ready"))
	}
	w.quiet()
	before := w.requests.count()
	w.delete(stacks, w.home, "red")
	w.awaitGone(stacks, w.home, "red")
	var deleted []string
	for _, request := range w.requests.since(before) {
		if strings.HasPrefix(request, "DELETE") {
			deleted = append(deleted, request[strings.LastIndex(request, "/")+1:])
		}
	}
	// A look before the informer shows the end asks for it once more.
	if !slices.Equal(slices.Compact(deleted), []string{"red-top", "red-base"}) {
		t.Errorf("the deletions were %q, want the dependent first", deleted)
	}

	w.rule("stack", plain)
	free := w.await(stacks, w.home, "blue", "is free", func(obj *unstructured.Unstructured) bool { return len(obj.GetFinalizers()) == 0 })
	for _, name := range []string{"blue-base", "blue-top"} {
		if owners := w.get(configMaps, w.home, name).GetOwnerReferences(); len(owners) != 1 || owners[0].UID != free.GetUID() {
			t.Errorf("%s has the owner references %v, want one to its parent", name, owners)
		}
	}
}

// A namespace that is being deleted is kept by a parent whose cleanup can create nothing in it. The
// parent says so, and an Event about the Namespace, and both say the way out.
func TestCleanupInANamespaceThatGoes(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "Stack")
	w.rule("stack", stackRule)
	w.run()
	stacks, gone := w.resource("Stack"), w.home+"-gone"
	w.create(namespaces, w.object("{apiVersion: v1, kind: Namespace, metadata: {name: "+gone+"}}"))
	w.create(stacks, w.object("apiVersion: $GROUP/v1\nkind: Stack\nmetadata: {name: red, namespace: "+gone+"}\nspec: {size: small, timeout: 1h}\n"))
	w.await(stacks, gone, "red", "is ready", isTrue("Ready"))
	w.delete(namespaces, "", gone)
	skip := "kanon.dev/finalized-" + mark.RuleID(w.kanon, w.kanon, "stack")
	w.await(stacks, gone, "red", "says the way out", func(obj *unstructured.Unstructured) bool {
		message := conditionField(obj, "Stalled", "message")
		return conditionField(obj, "Stalled", "reason") == "Finalizing" &&
			strings.Contains(message, "namespace "+gone+" is being deleted") && strings.Contains(message, skip+`: "true"`)
	})
	w.awaitAny(events, "default", "involvedObject.kind=Namespace,involvedObject.name="+gone+",reason=Finalizing", "an Event says the way out",
		func(obj *unstructured.Unstructured) bool {
			if obj == nil {
				return false
			}
			message, _ := field(obj, "message").(string)
			return strings.Contains(message, gone+"/red") && strings.Contains(message, skip)
		})
	w.patch(stacks, gone, "red", `{"metadata": {"annotations": {"`+skip+`": "true"}}}`)
	w.awaitGone(namespaces, "", gone)
}
