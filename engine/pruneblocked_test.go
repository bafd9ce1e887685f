package engine_test

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// stuckRule makes a ConfigMap for each item of a Note, by the name that the Note has for
// it, one that reads an input, and one that is there as long as the Note says so.
const stuckRule = `
apiVersion: kanon.dev/v1alpha1
kind: Rule
metadata: {name: stuck}
spec:
  parent: {apiVersion: $GROUP/v1, kind: Note}
  lookups:
  - {id: input, apiVersion: v1, kind: ConfigMap, name: "${parent.spec.input}"}
  children:
  - id: items
    forEach: [{name: item, in: "${parent.spec.items}"}]
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata:
        name: ${parent.metadata.name}-${parent.spec.names[item]}
        labels: {label: "${parent.spec.label}"}
  - id: reader
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: "${parent.metadata.name}-reader"}
      data: {text: "${lookups.input.data.text}"}
  - id: other
    when: ${parent.spec.other}
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: "${parent.metadata.name}-other"}
`

// While anything of a parent cannot be brought up to date, nothing that it renders no
// more is pruned; what is stuck decides nothing for good.
func TestNothingIsPrunedWhileSomethingIsStuck(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		stick  func(w *world) // before the change; nil where the change is all
		silent bool           // whether nothing shows of that before the change
		change string         // what the Note says when the child is not rendered any more
		reason string         // of the condition Ready; any where it is empty
		free   func(w *world)
	}{
		"a stranger has a child's name": {
			stick:  func(w *world) { w.configMap(w.home, "n-b", "a stranger's", "") },
			silent: true,
			change: `{"spec": {"other": false, "items": ["a", "b"]}}`,
			reason: "NameTaken",
			free:   func(w *world) { w.delete(configMaps, w.home, "n-b") },
		},
		"somebody's finalizer holds a child of that name": {
			stick: func(w *world) {
				w.patch(configMaps, w.home, "n-a", `{"metadata": {"finalizers": ["example.com/hold"]}}`)
				w.delete(configMaps, w.home, "n-a")
			},
			change: `{"spec": {"other": false}}`,
			reason: "Terminating",
			free:   func(w *world) { w.patch(configMaps, w.home, "n-a", `{"metadata": {"finalizers": null}}`) },
		},
		"the API server refuses a child": {
			change: `{"spec": {"other": false, "label": "not valid!"}}`,
			reason: "Invalid",
			free:   func(w *world) { w.patch(w.resource("Note"), w.home, "n", `{"spec": {"label": "valid"}}`) },
		},
		"a lookup is gone": {
			stick:  func(w *world) { w.delete(configMaps, w.home, "input") },
			change: `{"spec": {"other": false}}`,
			reason: "Waiting",
			free:   func(w *world) { w.configMap(w.home, "input", "x", "") },
		},
		"two items have one name": {
			change: `{"spec": {"other": false, "items": ["a", "c"], "names": {"c": "a"}}}`,
			free:   func(w *world) { w.patch(w.resource("Note"), w.home, "n", `{"spec": {"items": ["a"]}}`) },
		},
		"the name of an item cannot be rendered": {
			change: `{"spec": {"other": false, "items": ["a", "nameless"]}}`,
			free:   func(w *world) { w.patch(w.resource("Note"), w.home, "n", `{"spec": {"items": ["a"]}}`) },
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "Note")
			w.rule("stuck", stuckRule)
			w.run()
			w.configMap(w.home, "input", "x", "")
			w.parent("Note", "n", `{items: [a], names: {a: a, b: b}, label: fine, input: input, other: true}`)
			notes := w.resource("Note")
			w.await(notes, w.home, "n", "is ready", isTrue("Ready"))
			awaitStuck := func() {
				t.Helper()
				generation := w.get(notes, w.home, "n").GetGeneration()
				w.await(notes, w.home, "n", "says what is stuck", func(obj *unstructured.Unstructured) bool {
					return conditionStatus(obj, "Ready") == "False" && speaksOf(obj, generation) &&
						(tc.reason == "" || tc.reason == conditionField(obj, "Ready", "reason"))
				})
			}
			if tc.stick != nil {
				tc.stick(w)
				if !tc.silent {
					awaitStuck()
				}
			}
			w.patch(notes, w.home, "n", tc.change)
			awaitStuck() // which is said when all else of a pass is done
			if other := w.get(configMaps, w.home, "n-other"); other.GetDeletionTimestamp() != nil {
				t.Error("a child was pruned while another one was stuck")
			}
			w.get(configMaps, w.home, "n-a")
			tc.free(w)
			w.awaitGone(configMaps, w.home, "n-other")
			w.await(notes, w.home, "n", "is ready again", isTrue("Ready"))
		})
	}
}

// An item that its list no longer has goes, while something of another kind is stuck that does not exist and so does not
// need it. While something that exists is stuck, it stays, and the parent says which, how many, and why.
func TestItemIsPrunedWhileAnotherNodeIsStuck(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "Note")
	w.rule("owners", `
apiVersion: kanon.dev/v1alpha1
kind: Rule
metadata: {name: owners}
spec:
  parent: {apiVersion: $GROUP/v1, kind: Note}
  children:
  - id: owners
    forEach: [{name: owner, in: "${parent.spec.owners}"}]
    template: {apiVersion: v1, kind: ServiceAccount, metadata: {name: "${owner}"}}
  - id: config
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: "${parent.spec.config}", labels: {label: "${parent.spec.label}"}}
`)
	w.run()
	w.configMap(w.home, "taken", "a stranger's", "")
	w.parent("Note", "n", `{owners: [a, b, c], config: taken, label: fine}`)
	notes := w.resource("Note")
	stalled := func(reason string) func(*unstructured.Unstructured) bool {
		return func(obj *unstructured.Unstructured) bool {
			return conditionStatus(obj, "Stalled") == "True" && conditionField(obj, "Stalled", "reason") == reason && speaksOf(obj, obj.GetGeneration())
		}
	}
	w.await(notes, w.home, "n", "says that the name is taken", stalled("NameTaken"))
	w.patch(notes, w.home, "n", `{"spec": {"owners": ["b", "c"]}}`)
	w.awaitGone(serviceAccounts, w.home, "a")
	w.patch(notes, w.home, "n", `{"spec": {"config": "free"}}`)
	w.await(notes, w.home, "n", "is ready", isTrue("Ready"))
	w.patch(notes, w.home, "n", `{"spec": {"label": "not valid!", "owners": []}}`)
	parent := w.await(notes, w.home, "n", "says that the child is refused", stalled("Invalid"))
	const want = "2 objects are no longer rendered, and are not deleted until everything else is up to date: ServiceAccount "
	if got := conditionField(parent, "Stalled", "message"); !strings.Contains(fmt.Sprint(got), want) {
		t.Errorf("the condition does not say what stays: %v", got)
	}
	w.get(serviceAccounts, w.home, "b")
	w.patch(notes, w.home, "n", `{"spec": {"label": "valid"}}`)
	w.awaitGone(serviceAccounts, w.home, "b")
}

// speaksOf tells whether the condition Ready is about a generation of its object.
func speaksOf(obj *unstructured.Unstructured, generation int64) bool {
	conditions, _, _ := unstructured.NestedSlice(obj.Object, "status", "conditions")
	for _, item := range conditions {
		if c, ok := item.(map[string]any); ok && c["type"] == "Ready" {
			return c["observedGeneration"] == generation
		}
	}
	return false
}
