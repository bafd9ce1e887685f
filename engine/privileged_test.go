package engine_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kanon.dev/kanon/engine/source"
)

// What an object is decides, and not only what a rule renders: a rule that does not say allowPrivileged neither patches nor adopts an
// object that holds rules, also if it sets nothing that makes it one.
func TestObjectsThatHoldRulesAreLeftAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "Note")
	for _, name := range []string{"patched", "adopted"} {
		w.create(configMaps, w.object("{apiVersion: v1, kind: ConfigMap, metadata: {name: "+name+", namespace: $HOME, labels: {"+source.LabelRules+": \"true\"}}, data: {text: theirs}}"))
	}
	const rule = `
apiVersion: kanon.dev/v1alpha1
kind: Rule
metadata: {name: note}
spec:
  parent: {apiVersion: $GROUP/v1, kind: Note}
  children:
  - {id: adopted, adopt: true, template: {apiVersion: v1, kind: ConfigMap, metadata: {name: adopted}, data: {text: ours}}}
  patches:
  - {id: patched, target: {apiVersion: v1, kind: ConfigMap, name: patched}, template: {data: {text: ours}}}
`
	w.rule("note", rule)
	w.run()
	w.verdict("note", `"ready":true`)
	w.parent("Note", "one", "{}")
	w.await(w.resource("Note"), w.home, "one", "says what is refused", func(obj *unstructured.Unstructured) bool {
		message := conditionField(obj, "Stalled", "message")
		return strings.Contains(message, "/adopted is not written, because it contains rules") && strings.Contains(message, "/patched is not written, because it contains rules")
	})
	for _, name := range []string{"patched", "adopted"} {
		if text := field(w.get(configMaps, w.home, name), "data", "text"); text != "theirs" {
			t.Errorf("%s has %v", name, text)
		}
	}

	// A trusted rule may say that it is meant.
	w.rule("note", strings.Replace(rule, "spec:\n", "spec:\n  allowPrivileged: true\n", 1))
	for _, name := range []string{"patched", "adopted"} {
		w.await(configMaps, w.home, name, "is written", has("ours", "data", "text"))
	}
}
