package engine_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kanon.dev/kanon/internal/controlplanetest"
)

// arrivesLate creates a child again as if Kanon's request had been on its way since before the child was deleted; manager
// is the field manager of the request.
func (w *world) arrivesLate(child *unstructured.Unstructured, manager string) {
	w.t.Helper()
	late := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": child.GetAPIVersion(), "kind": child.GetKind(), "data": child.Object["data"],
		"metadata": map[string]any{
			"name": child.GetName(), "namespace": child.GetNamespace(),
			"labels": field(child, "metadata", "labels"), "annotations": field(child, "metadata", "annotations"),
		},
	}}
	if _, err := w.at(configMaps, child.GetNamespace()).Create(w.t.Context(), late, metav1.CreateOptions{FieldManager: manager}); err != nil {
		w.t.Fatalf("create %s late: %v", child.GetName(), err)
	}
}

// A creation that reaches the API server after the cleanup of its parent leaves nothing: neither while no parent has the
// name, nor when another one has it that renders other children, nor if Kanon was not running then, nor if that parent is
// being deleted.
func TestChildThatArrivesAfterTheCleanup(t *testing.T) {
	t.Parallel()
	w, elsewhere := wideWorld(t)
	w.rule("wide", wideRule)
	stop := w.run()
	teams := w.resource("Team")
	w.team("red", elsewhere)
	far := w.get(configMaps, elsewhere, "red-far")
	w.delete(teams, w.home, "red")
	w.awaitGone(teams, w.home, "red")
	w.awaitGone(configMaps, elsewhere, "red-far")

	w.arrivesLate(far, "kanon")
	w.awaitGone(configMaps, elsewhere, "red-far")

	w.parent("Team", "red", "{size: small, far: false, elsewhere: "+elsewhere+"}")
	w.await(teams, w.home, "red", "is ready", isTrue("Ready"))
	w.arrivesLate(far, "kanon")
	w.awaitGone(configMaps, elsewhere, "red-far")

	stop()
	w.arrivesLate(far, "kanon")
	stop = w.run()
	w.awaitGone(configMaps, elsewhere, "red-far")

	w.patch(teams, w.home, "red", `{"spec":{"far":true,"elsewhere":"`+controlplanetest.Namespace(t, w.config)+`"}}`)
	w.await(teams, w.home, "red", "is held", w.holds("wide"))
	stop()
	w.arrivesLate(far, "kanon")
	w.delete(teams, w.home, "red")
	w.run()
	w.awaitGone(teams, w.home, "red")
	w.awaitGone(configMaps, elsewhere, "red-far")
}

// What somebody may want to keep is no leftover: what a backup restored, and the children of a parent whose finalizer
// somebody removed or that was deleted with orphaning.
func TestWhatLooksLikeALeftoverStays(t *testing.T) {
	t.Parallel()
	w, elsewhere := wideWorld(t)
	w.rule("wide", wideRule)
	stop := w.run()
	teams := w.resource("Team")
	w.team("restored", elsewhere)
	far := w.get(configMaps, elsewhere, "restored-far")
	w.delete(teams, w.home, "restored")
	w.awaitGone(configMaps, elsewhere, "restored-far")
	w.awaitGone(teams, w.home, "restored")
	w.arrivesLate(far, "velero-server")
	w.parent("Team", "restored", "{size: small, far: false, elsewhere: "+elsewhere+"}")
	w.await(teams, w.home, "restored", "is ready", isTrue("Ready"))

	w.team("orphaned", elsewhere)
	orphan := w.get(configMaps, elsewhere, "orphaned-far")
	w.deleteOrphaning(teams, w.home, "orphaned")
	w.awaitGone(teams, w.home, "orphaned")
	w.delete(configMaps, elsewhere, "orphaned-far")
	w.arrivesLate(orphan, "kanon")

	w.team("freed", elsewhere)
	stop()
	w.delete(teams, w.home, "freed")
	w.patch(teams, w.home, "freed", `{"metadata":{"finalizers":null}}`)
	w.awaitGone(teams, w.home, "freed")
	w.run()
	w.team("last", elsewhere)
	w.quiet()
	for _, name := range []string{"restored-far", "orphaned-far", "freed-far"} {
		w.get(configMaps, elsewhere, name)
	}
}
