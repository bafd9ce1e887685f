package engine_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kanon.dev/kanon/engine/apply/mark"
)

// keepRule makes ConfigMaps of each Vault: one that stays when it is pruned, one for
// which the Vault says whether it stays when that is deleted, and one that never does.
const keepRule = `
apiVersion: kanon.dev/v1alpha1
kind: Rule
metadata: {name: keep}
spec:
  parent: {apiVersion: $GROUP/v1, kind: Vault}
  children:
  - id: pruned
    when: ${parent.spec.?wanted.orValue(true)}
    deletionPolicy: {whenPruned: Orphan}
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: "${parent.metadata.name}-pruned"}
      data: {size: "${parent.spec.size}", note: "${parent.spec.?note}"}
  - id: deleted
    deletionPolicy: {whenDeleted: "${parent.spec.?keep.orValue(false) ? 'Orphan' : 'Delete'}"}
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: "${parent.metadata.name}-deleted"}
      data: {size: "${parent.spec.size}"}
  - id: never
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: "${parent.metadata.name}-never"}
      data: {size: "${parent.spec.size}"}
`

// isFree holds for an object that was let go.
func isFree(by string) func(*unstructured.Unstructured) bool {
	return func(obj *unstructured.Unstructured) bool {
		_, owned := obj.GetAnnotations()[mark.AnnotationOwner]
		_, applied := obj.GetAnnotations()[mark.AnnotationApplied]
		return !owned && !applied && len(obj.GetLabels()) == 0 && len(obj.GetOwnerReferences()) == 0 &&
			obj.GetAnnotations()[mark.AnnotationRetained] == by
	}
}

// belongsTo holds for a child that is the parent's in every respect.
func belongsTo(parent *unstructured.Unstructured) func(*unstructured.Unstructured) bool {
	return func(obj *unstructured.Unstructured) bool {
		owner, _ := mark.ReadOwner(obj)
		_, retained := obj.GetAnnotations()[mark.AnnotationRetained]
		return owner.Parent.UID == parent.GetUID() && obj.GetLabels()[mark.LabelRule] != "" && !retained
	}
}

// Children stay where their deletionPolicy says so, free of what made them children,
// and come back to their parent.
func TestOrphans(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "Vault")
	outer := w
	w.rule("keep", keepRule)
	stop := w.run()
	vaults := w.resource("Vault")
	ready := func(name, spec string) *unstructured.Unstructured {
		w.t.Helper()
		w.parent("Vault", name, spec)
		return w.await(vaults, w.home, name, "is ready", isTrue("Ready"))
	}
	red := ready("red", "{size: small, note: x}")
	by := w.kanon + "/keep/" + w.home + "/"
	if !w.holds("keep")(red) {
		t.Error("a parent whose child may stay is not held")
	}
	if pruned, deleted := w.get(configMaps, w.home, "red-pruned"), w.get(configMaps, w.home, "red-deleted"); !mark.RefersTo(pruned, red.GetUID()) || mark.RefersTo(deleted, red.GetUID()) {
		t.Errorf("owner references: %v and %v, want one on the first only", pruned.GetOwnerReferences(), deleted.GetOwnerReferences())
	}

	t.Run("pruned, and wanted again", func(t *testing.T) {
		w := w.in(t)
		w.patch(vaults, w.home, "red", `{"spec":{"wanted":false}}`)
		w.await(configMaps, w.home, "red-pruned", "is let go", isFree(by+"red"))
		w.awaitEvent(w.home, "red", "Orphaned")
		w.patch(configMaps, w.home, "red-pruned", `{"data":{"size":"edited"}}`)
		w.patch(vaults, w.home, "red", `{"spec":{"wanted":true,"note":null}}`)
		back := w.await(configMaps, w.home, "red-pruned", "is back", belongsTo(red))
		if !has("small", "data", "size")(back) || field(back, "data", "note") != nil || !mark.RefersTo(back, red.GetUID()) {
			t.Errorf("it came back as %v, %v", back.Object["data"], back.GetOwnerReferences())
		}
	})

	t.Run("deleted, by the parent's last word", func(t *testing.T) {
		w := w.in(t)
		ready("blue", "{size: small, keep: true}")
		ready("grey", "{size: small}")
		stop() // so that the change and the deletion are seen at once
		w.patch(vaults, w.home, "red", `{"spec":{"keep":true}}`)
		w.patch(vaults, w.home, "blue", `{"spec":{"keep":false}}`)
		for _, name := range []string{"red", "blue"} {
			w.delete(vaults, w.home, name)
		}
		w.deleteOrphaning(vaults, w.home, "grey")
		stop = outer.run()
		w.awaitGone(vaults, w.home, "red")
		w.awaitGone(vaults, w.home, "blue")
		w.awaitGone(vaults, w.home, "grey")
		w.awaitGone(configMaps, w.home, "red-never")
		w.awaitGone(configMaps, w.home, "red-pruned")
		w.await(configMaps, w.home, "red-deleted", "is let go", isFree(by+"red"))
		w.awaitGone(configMaps, w.home, "blue-deleted")
		w.await(configMaps, w.home, "grey-deleted", "is let go", isFree(by+"grey"))
		w.get(configMaps, w.home, "grey-never")
	})

	t.Run("the next parent of the name gets it back", func(t *testing.T) {
		w := w.in(t)
		ready("green", "{size: small}") // a stranger to what red left
		second := ready("red", "{size: large, keep: true}")
		back := w.await(configMaps, w.home, "red-deleted", "is back", belongsTo(second))
		if !has("large", "data", "size")(back) {
			t.Errorf("its data are %v", back.Object["data"])
		}
	})

	t.Run("a change of tracking writes the finalizer first", func(t *testing.T) {
		w := w.in(t)
		plain, _, _ := strings.Cut(keepRule, "  - id: deleted")
		_, never, _ := strings.Cut(keepRule, "  - id: never")
		w.rule("keep", plain+"  - id: deleted\n"+strings.ReplaceAll(never, "-never", "-deleted"))
		w.await(vaults, w.home, "red", "is free", func(obj *unstructured.Unstructured) bool { return len(obj.GetFinalizers()) == 0 })
		red := w.await(vaults, w.home, "red", "is ready", isTrue("Ready"))
		if deleted := w.get(configMaps, w.home, "red-deleted"); !mark.RefersTo(deleted, red.GetUID()) {
			t.Error("a child that never stays has no owner reference")
		}
		w.quiet()
		before := w.requests.count()
		w.rule("keep", keepRule)
		w.await(configMaps, w.home, "red-deleted", "has no owner reference", func(obj *unstructured.Unstructured) bool { return len(obj.GetOwnerReferences()) == 0 })
		w.await(vaults, w.home, "red", "is held", w.holds("keep"))
		var order []string
		for _, request := range w.requests.since(before) {
			if !strings.HasPrefix(request, "GET ") && (strings.HasSuffix(request, "/red") || strings.HasSuffix(request, "/red-deleted")) {
				order = append(order, request[strings.LastIndex(request, "/")+1:])
			}
		}
		if len(order) < 2 || order[0] != "red" {
			t.Errorf("the writes were %q, want the parent's first", order)
		}
	})
}
