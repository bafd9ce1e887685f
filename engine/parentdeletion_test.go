package engine_test

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kanon.dev/kanon/engine"
	"kanon.dev/kanon/engine/apply/mark"
)

// storeRule makes of each Store a claim, which may be kept and so is tracked, and an app, which the garbage collector deletes.
const storeRule = `
apiVersion: kanon.dev/v1alpha1
kind: Rule
metadata: {name: store}
spec:
  parent: {apiVersion: $GROUP/v1, kind: Store}
  children:
  - id: app
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: "${parent.metadata.name}-app"}
  - id: claim
    dependsOn: [app]
    deletionPolicy: {whenPruned: Orphan, whenDeleted: "${parent.spec.?keep.orValue(false) ? 'Orphan' : 'Delete'}"}
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: "${parent.metadata.name}-claim"}
`

// inUse plays the protection of a volume claim, which is removed when no Pod uses the claim any more.
const (
	inUse  = `{"metadata":{"finalizers":["example.com/in-use"]}}`
	unused = `{"metadata":{"finalizers":null}}`
)

// storeWorld has the kind of storeRule.
func storeWorld(t *testing.T) (w *world, stores schema.GroupVersionResource) {
	t.Helper()
	w = newWorld(t, "Store")
	w.rule("store", storeRule)
	return w, w.resource("Store")
}

// store creates a Store with a claim that is in use.
func (w *world) store(name, spec string) {
	w.t.Helper()
	w.parent("Store", name, spec)
	w.await(w.resource("Store"), w.home, name, "is ready", isTrue("Ready"))
	w.patch(configMaps, w.home, name+"-claim", inUse)
}

// deleteWith deletes an object with a propagation policy.
func (w *world) deleteWith(policy metav1.DeletionPropagation, gvr schema.GroupVersionResource, name string) {
	w.t.Helper()
	if err := w.at(gvr, w.home).Delete(w.t.Context(), name, metav1.DeleteOptions{PropagationPolicy: &policy}); err != nil {
		w.t.Fatal(err)
	}
}

func isDeleting(obj *unstructured.Unstructured) bool { return obj.GetDeletionTimestamp() != nil }

// A tracked child can be in use by an owned one, which the garbage collector deletes after the parent. So a background deletion
// waits until the tracked child is being deleted, and no longer. The next parent of the name waits for its end.
func TestBackgroundDeletionAwaitsNoEnd(t *testing.T) {
	t.Parallel()
	w, stores := storeWorld(t)
	w.run()
	w.store("red", "{}")
	old := w.get(configMaps, w.home, "red-claim").GetUID()
	w.delete(stores, w.home, "red")
	w.awaitGone(stores, w.home, "red")
	w.awaitGone(configMaps, w.home, "red-app")
	if claim := w.get(configMaps, w.home, "red-claim"); !isDeleting(claim) {
		t.Errorf("the claim is not deleted: %v", claim.Object)
	}
	w.quiet()
	w.awaitForgotten()

	w.parent("Store", "red", "{}")
	w.await(stores, w.home, "red", "waits for the old claim", func(obj *unstructured.Unstructured) bool {
		return conditionField(obj, "Ready", "reason") == "Terminating" && strings.Contains(conditionField(obj, "Ready", "message"), "example.com/in-use")
	})
	w.patch(configMaps, w.home, "red-claim", unused)
	w.await(stores, w.home, "red", "is ready", isTrue("Ready"))
	if claim := w.get(configMaps, w.home, "red-claim"); claim.GetUID() == old || isDeleting(claim) {
		t.Errorf("the claim is the old one: %v", claim.Object)
	}
	if said := w.saidOf("red", "Deleting"); len(said) > 0 {
		t.Errorf("a normal deletion is said to be blocked: %q", said)
	}
}

// What somebody else has deleted cannot be kept, and does not block the deletion of the parent: also if Kanon sees only later
// that both are being deleted.
func TestChildThatIsDeletedBeforeItsParent(t *testing.T) {
	t.Parallel()
	w, stores := storeWorld(t)
	stop := w.run()
	for _, name := range []string{"here", "away"} {
		w.store(name, "{keep: true}")
	}
	w.delete(configMaps, w.home, "here-claim")
	w.await(stores, w.home, "here", "waits for the end of its claim", isTrue("Reconciling"))
	w.delete(stores, w.home, "here")
	w.awaitGone(stores, w.home, "here")
	stop()

	w.delete(configMaps, w.home, "away-claim")
	w.delete(stores, w.home, "away")
	w.run()
	w.awaitGone(stores, w.home, "away")
	for _, name := range []string{"here", "away"} {
		w.awaitGone(configMaps, w.home, name+"-app")
		w.patch(configMaps, w.home, name+"-claim", unused)
		w.awaitGone(configMaps, w.home, name+"-claim")
	}
}

// A foreground deletion awaits the end of tracked children, too, also after the garbage collector has done its part and has
// removed from the parent what told of it. An Event says what blocks the deletion once it lasts.
func TestForegroundDeletionAwaitsTheEnd(t *testing.T) {
	t.Parallel()
	w, stores := storeWorld(t)
	stop := w.run(func(o *engine.Options) { o.WaitLimit = time.Hour })
	for _, name := range []string{"red", "blue"} {
		w.store(name, "{}")
		w.deleteWith(metav1.DeletePropagationForeground, stores, name)
		// The garbage collector deletes the app before that, unless it has not seen it yet; then it deletes it at the end.
		w.await(stores, w.home, name, "is kept by the rule alone", func(obj *unstructured.Unstructured) bool {
			return w.holds("store")(obj) && len(obj.GetFinalizers()) == 1
		})
		w.await(stores, w.home, name, "says what blocks it", func(obj *unstructured.Unstructured) bool {
			return conditionField(obj, "Ready", "reason") == "Deleting" && strings.Contains(conditionField(obj, "Ready", "message"), "example.com/in-use")
		})
		w.quiet()
		w.get(stores, w.home, name)
		if said := w.saidOf(name, "Deleting"); len(said) > 0 {
			t.Errorf("it is said before it lasts: %q", said)
		}
	}
	w.patch(configMaps, w.home, "red-claim", unused)
	w.awaitGone(configMaps, w.home, "red-claim")
	w.awaitGone(stores, w.home, "red")
	w.awaitGone(configMaps, w.home, "red-app")
	stop()
}

// A rule that finalizes deletes in order and waits for each end. What a child comes after can be what uses it: the message says
// what blocks it, what comes next, and the way out.
func TestOrderThatBlocksItself(t *testing.T) {
	t.Parallel()
	w, stores := storeWorld(t)
	w.rule("store", storeRule+"  finalize: {}\n")
	w.run(func(o *engine.Options) { o.WaitLimit = time.Second })
	w.store("red", "{}")
	w.delete(stores, w.home, "red")
	w.await(stores, w.home, "red", "says the way out", func(obj *unstructured.Unstructured) bool {
		message := conditionField(obj, "Ready", "message")
		return conditionField(obj, "Ready", "reason") == "Deleting" && strings.Contains(message, "example.com/in-use") &&
			strings.Contains(message, "ConfigMap "+w.home+"/red-app is deleted after that") && strings.Contains(message, "dependsOn: [claim]")
	})
	w.awaitEvent(w.home, "red", "Deleting")
	w.delete(configMaps, w.home, "red-app")
	w.awaitGone(configMaps, w.home, "red-app")
	w.patch(configMaps, w.home, "red-claim", unused)
	w.awaitGone(stores, w.home, "red")
}

// A child that was made for an earlier parent of the same name is waited out,
// and is not taken for the new parent's.
func TestParentDeletedAndCreatedAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "Box")
	w.rule("box", boxRule)
	w.run()
	w.parent("Box", "red", "{color: red}")
	w.await(w.resource("Box"), w.home, "red", "is ready", isTrue("Ready"))
	old := w.get(configMaps, w.home, "red-config")
	w.delete(w.resource("Box"), w.home, "red")
	again := w.parent("Box", "red", "{color: red}")
	w.await(configMaps, w.home, "red-config", "is the new parent's", func(obj *unstructured.Unstructured) bool {
		owner, ok := mark.ReadOwner(obj)
		return ok && owner.Parent.UID == again.GetUID() && obj.GetUID() != old.GetUID()
	})
	w.await(w.resource("Box"), w.home, "red", "is ready", isTrue("Ready"))
}
