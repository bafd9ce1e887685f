package engine_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

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

// restoreManagers gives an object the field managers that it had before, as Velero does.
func (w *world) restoreManagers(gvr schema.GroupVersionResource, before *unstructured.Unstructured) {
	w.t.Helper()
	entries := before.GetManagedFields()
	for i := range entries {
		entries[i].Time = &metav1.Time{Time: before.GetCreationTimestamp().Add(-time.Hour)}
	}
	text, err := json.Marshal(entries)
	if err != nil {
		w.t.Fatal(err)
	}
	w.patch(gvr, before.GetNamespace(), before.GetName(), `{"metadata":{"managedFields":`+string(text)+`}}`)
	if got := w.get(gvr, before.GetNamespace(), before.GetName()).GetManagedFields(); len(got) == 0 || got[0].Manager != "kanon" {
		w.t.Fatalf("the field managers are %v", got)
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

// otherRule has a child elsewhere, and holds a parent that is being deleted until it has an annotation.
const otherRule = `
apiVersion: kanon.dev/v1alpha1
kind: Rule
metadata: {name: other}
spec:
  parent: {apiVersion: $GROUP/v1, kind: Team}
  children:
  - id: kept
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: "${parent.metadata.name}-kept", namespace: "${parent.spec.elsewhere}"}
  finalize: {until: "${parent.metadata.?annotations.?go.hasValue()}"}
`

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
	w.restoreManagers(configMaps, far)
	w.parent("Team", "restored", "{size: small, far: false, elsewhere: "+elsewhere+"}")
	w.await(teams, w.home, "restored", "is ready", isTrue("Ready"))

	w.team("orphaned", elsewhere)
	orphan := w.get(configMaps, elsewhere, "orphaned-far")
	w.deleteOrphaning(teams, w.home, "orphaned")
	w.awaitGone(teams, w.home, "orphaned")
	w.delete(configMaps, elsewhere, "orphaned-far")
	w.arrivesLate(orphan, "kanon")

	// The other rule has cleaned up, and this one has not.
	w.rule("other", otherRule)
	w.team("half", elsewhere)
	heldBy := func(wide bool) func(*unstructured.Unstructured) bool {
		return func(obj *unstructured.Unstructured) bool {
			return w.holds("wide")(obj) == wide && w.holds("other")(obj)
		}
	}
	w.await(teams, w.home, "half", "is held by both rules", heldBy(true))
	w.await(configMaps, elsewhere, "half-kept", "is made", exists)
	w.delete(teams, w.home, "half")
	w.await(teams, w.home, "half", "is held by one rule", heldBy(false))
	w.patch(teams, w.home, "half", `{"metadata":{"finalizers":null}}`)
	w.awaitGone(teams, w.home, "half")
	w.quiet()
	w.get(configMaps, elsewhere, "half-kept")
	w.delete(configMaps, w.kanon, "other")

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

// The name of a leftover that is computed from a Secret is not logged.
func TestLeftoverWithASecretName(t *testing.T) {
	t.Parallel()
	w, elsewhere := wideWorld(t)
	logged := w.captureLog()
	secrets := schema.GroupVersionResource{Version: "v1", Resource: "secrets"}
	w.create(secrets, w.object("apiVersion: v1\nkind: Secret\nmetadata: {name: red, namespace: $HOME}\nstringData: {token: hunter2}\n"))
	w.rule("private", `
apiVersion: kanon.dev/v1alpha1
kind: Rule
metadata: {name: private}
spec:
  parent: {apiVersion: $GROUP/v1, kind: Team}
  lookups: [{id: token, apiVersion: v1, kind: Secret, name: "${parent.metadata.name}"}]
  children:
  - id: far
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: "${string(lookups.token.data.token)}", namespace: "${parent.spec.elsewhere}"}
      data: {a: b}
`)
	w.run()
	w.team("red", elsewhere)
	far := w.get(configMaps, elsewhere, "hunter2")
	w.delete(w.resource("Team"), w.home, "red")
	w.awaitGone(w.resource("Team"), w.home, "red")
	w.awaitGone(configMaps, elsewhere, "hunter2")
	w.arrivesLate(far, "kanon")
	w.awaitGone(configMaps, elsewhere, "hunter2")
	w.quiet()
	if text := logged(); strings.Contains(text, "hunter2") || !strings.Contains(text, "after the cleanup of its parent") {
		t.Errorf("the log names the leftover by its secret, or does not report it:\n%s", text)
	}
}
