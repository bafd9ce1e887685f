package engine_test

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kanon.dev/kanon/internal/controlplanetest"
)

// rememberedRule has the engine remember as much of a parent as it can: a child in
// another namespace, one that goes to and fro, one that is refused, lookups, a patch, a
// time, and an Event.
const rememberedRule = `
apiVersion: kanon.dev/v1alpha1
kind: Rule
metadata: {name: remembered}
spec:
  parent: {apiVersion: $GROUP/v1, kind: Note}
  requeueAfter: 1h
  lookups:
  - {id: settings, apiVersion: v1, kind: ConfigMap, name: "${parent.metadata.name}-settings", optional: true}
  - {id: pin, apiVersion: v1, kind: Secret, name: "${parent.metadata.name}-pin", optional: true}
  children:
  - id: far
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: "${parent.metadata.name}-far", namespace: $ELSEWHERE}
      data: {settings: "${string(has(lookups.settings))}", pin: "${string(has(lookups.pin))}"}
  - id: fickle
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: "${parent.metadata.name}-fickle"}
      data: {to: "${observed.fickle != null && observed.fickle.data.to == 'a' ? 'b' : 'a'}"}
  - id: refused
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: "${parent.spec.refused}"}
  patches:
  - id: color
    target: {apiVersion: v1, kind: ConfigMap, name: "${parent.metadata.name}-shared", namespace: "${parent.metadata.namespace}"}
    template: {data: {color: red}}
  status: {at: "${now}"}
`

// awaitForgotten waits until the engine remembers nothing of the world's home.
func (w *world) awaitForgotten() {
	w.t.Helper()
	var left map[string]int
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); {
		if left = w.engine.Remembered(w.home); len(left) == 0 {
			return
		}
		<-time.After(50 * time.Millisecond) // the stores are nowhere to be watched
	}
	w.t.Errorf("it still remembers %v", left)
}

// wantRemembered checks that the engine remembers something in some stores: else a test
// that it forgets says nothing.
func (w *world) wantRemembered(stores ...string) {
	w.t.Helper()
	got := w.engine.Remembered(w.home)
	for _, store := range stores {
		if got[store] == 0 {
			w.t.Errorf("it remembers nothing in %s, but in %v", store, slices.Sorted(maps.Keys(got)))
		}
	}
}

// rememberedWorld is one in which much is remembered of the parents n and m: both are in
// a loop and contested, and n is being deleted with orphaning, and kept by somebody.
func rememberedWorld(t *testing.T) *world {
	t.Helper()
	w := newWorld(t, "Note")
	w.rule("remembered", strings.ReplaceAll(rememberedRule, "$ELSEWHERE", controlplanetest.Namespace(t, w.config)))
	w.run()
	notes := w.resource("Note")
	for _, name := range []string{"n", "m"} {
		w.create(configMaps, w.object(fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s-shared, namespace: $HOME}\ndata: {color: none}\n", name)))
		w.create(notes, w.object(fmt.Sprintf("apiVersion: $GROUP/v1\nkind: Note\nmetadata: {name: %q, namespace: $HOME, finalizers: [example.com/keep]}\nspec: {refused: Not Valid}\n", name)))
	}
	for name, color := range map[string]string{"n": "blue", "m": "green"} {
		defer w.paint(name+"-shared", color)()
	}
	for _, name := range []string{"n", "m"} {
		w.await(notes, w.home, name, "is contested and in a loop", func(obj *unstructured.Unstructured) bool {
			said := conditionField(obj, "Stalled", "message")
			return strings.Contains(said, "is changed back again and again") && strings.Contains(said, "never becomes stable")
		})
	}
	w.wantRemembered("parents", "chains", "conflicts", "readers", "borrowed", "contributions")
	w.deleteOrphaning(notes, w.home, "n")
	w.await(notes, w.home, "n", "is let go by Kanon and the garbage collector", func(obj *unstructured.Unstructured) bool {
		return slices.Equal(obj.GetFinalizers(), []string{"example.com/keep"})
	})
	return w
}

// A parent that is deleted before a new revision of its rule has begun is not counted any more.
func TestParentDeletedBeforeItsRuleBegins(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "Note")
	held := w.hold(http.MethodGet, "/api/v1/secrets")
	w.rule("note", note("x"))
	w.run()
	notes := w.resource("Note")
	w.parent("Note", "n", "{}")
	w.await(notes, w.home, "n", "is ready", isTrue("Ready"))
	w.rule("note", note("x")+"  - id: secret\n    template: {apiVersion: v1, kind: Secret, metadata: {name: \"${parent.metadata.name}\"}}\n")
	w.arrived(held)
	w.delete(notes, w.home, "n")
	w.awaitGone(notes, w.home, "n")
	held.Open()
	w.parent("Note", "m", "{}")
	w.await(secrets, w.home, "m", "is made", exists)
	w.await(notes, w.home, "m", "is ready", isTrue("Ready"))
	w.quiet()
	counted := 0
	for _, rule := range w.engine.Stats().Rules {
		for _, n := range rule.Parents {
			counted += n
		}
	}
	if counted != 1 {
		t.Errorf("%d parents are counted, want 1", counted)
	}
}

// What is remembered of parents and of the targets of patches goes with them.
func TestWhatEndedIsForgotten(t *testing.T) {
	t.Parallel()
	w := rememberedWorld(t)
	notes := w.resource("Note")
	w.delete(notes, w.home, "m")
	for _, name := range []string{"n", "m"} {
		w.patch(notes, w.home, name, `{"metadata":{"finalizers":null}}`)
		w.awaitGone(notes, w.home, name)
		w.delete(configMaps, w.home, name+"-shared")
	}
	w.awaitForgotten()
}

// What is remembered for a rule goes with the rule.
func TestWhatWasOfARuleIsForgotten(t *testing.T) {
	t.Parallel()
	w := rememberedWorld(t)
	w.delete(configMaps, w.kanon, "remembered")
	w.awaitForgotten()
}
