package engine_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// rivalRule has the same conditions as the rule note, and fails where that one does not. With
// takenChild it makes the object of the rule note, too.
const (
	rivalRule = `
apiVersion: kanon.dev/v1alpha1
kind: Rule
metadata: {name: rival}
spec:
  parent: {apiVersion: $GROUP/v1, kind: Note}
  children:
  - id: failing
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${parent.metadata.name}-rival"}, data: {color: "${parent.spec.color}"}}
`
	takenChild = `
  - id: taken
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${parent.metadata.name}"}}
`
)

// conditionsOf is the types and statuses of an object's conditions.
func conditionsOf(obj *unstructured.Unstructured) string {
	var found []string
	for _, name := range []string{"Ready", "Reconciling", "Stalled"} {
		if status := conditionStatus(obj, name); status != "" {
			found = append(found, name+"="+status)
		}
	}
	return strings.Join(found, " ")
}

// Of two rules with the same conditions, a parent has those of one, and all of them. The verdict on both
// and an Event say so; and that both make one object.
func TestRulesWithTheSameConditions(t *testing.T) {
	t.Parallel()
	for name, define := range map[string]func(w *world) *unstructured.Unstructured{
		"by type": func(w *world) *unstructured.Unstructured { return w.definition("Note") },
		"atomic":  func(w *world) *unstructured.Unstructured { return w.atomicDefinition("Note") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.install(define(w))
			w.rule("note", note("x"))
			stop := w.run()
			w.parent("Note", "n", "{}")
			w.await(w.resource("Note"), w.home, "n", "is ready", isTrue("Ready"))

			w.rule("rival", rivalRule+takenChild)
			verdict := w.verdict("rival", "rule note is for objects of kind Note too")
			if !strings.Contains(verdict, "child taken is the same ConfigMap ${parent.metadata.name} as child config of rule note") {
				t.Errorf("the verdict does not say that both make one object: %s", verdict)
			}
			w.verdict("note", "rule rival is for objects of kind Note too")
			w.awaitEvent(w.home, "n", "NameTaken")
			w.awaitEvent(w.home, "n", "NoConditions")
			if said := w.saidOf("n", "NoConditions"); len(said) != 1 || !strings.Contains(said[0], w.kanon+"/note has the same conditionPrefix") {
				t.Errorf("what is said is %q", said)
			}
			check := func(want string) {
				t.Helper()
				w.quiet()
				if got := conditionsOf(w.get(w.resource("Note"), w.home, "n")); got != want {
					t.Errorf("the conditions are %s, want %s", got, want)
				}
			}
			check("Ready=True")
			stop()
			w.run()
			w.awaitLook("n")
			check("Ready=True")

			// When the first one goes, the other one's are there.
			w.delete(configMaps, w.kanon, "note")
			w.await(w.resource("Note"), w.home, "n", "has the conditions of the other rule", isTrue("Stalled"))
			check("Ready=False Stalled=True")
		})
	}
}

// Parents that both rules meet for the first time have the conditions of one of them.
func TestRulesWithTheSameConditionsAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "Note")
	w.rule("note", note("x"))
	w.rule("rival", rivalRule)
	w.run()
	w.verdict("note", "rule rival")
	w.verdict("rival", "rule note")
	names := []string{"a", "b", "c", "d", "e", "f"}
	for _, name := range names {
		w.parent("Note", name, "{}")
	}
	for _, name := range names {
		w.awaitEvent(w.home, name, "EvaluationFailed")
	}
	w.quiet()
	for _, name := range names {
		got := conditionsOf(w.get(w.resource("Note"), w.home, name))
		if got != "Ready=True" && got != "Ready=False Stalled=True" {
			t.Errorf("the conditions of %s are those of two rules: %s", name, got)
		}
	}
}
