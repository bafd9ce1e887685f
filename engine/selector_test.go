package engine_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestParentThatLeavesTheSelector(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "Note")
	w.rule("note", strings.ReplaceAll(note("x"), "kind: Note}", "kind: Note, selector: {matchLabels: {on: 'yes'}}}"))
	stop := w.run()
	w.verdict("note", `"ready":true`)
	w.parent("Note", "n", "{}")
	w.parent("Note", "m", "{}")
	label := func(name, value string) {
		w.patch(w.resource("Note"), w.home, name, `{"metadata":{"labels":{"on":`+value+`}}}`)
	}
	label("n", `"yes"`)
	label("m", `"yes"`)
	w.await(configMaps, w.home, "n", "is made", exists)
	w.await(configMaps, w.home, "m", "is made", exists)
	label("n", "null")
	w.awaitGone(configMaps, w.home, "n")

	// The same while Kanon is away.
	stop()
	label("m", "null")
	w.run()
	w.awaitGone(configMaps, w.home, "m")
}

func TestParentsByNamespace(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "Note")
	label := func(value string) {
		w.patch(namespaces, "", w.home, `{"metadata":{"labels":{"env-`+w.home+`":`+value+`}}}`)
	}
	w.rule("note", strings.ReplaceAll(note("x"), "kind: Note}", "kind: Note, namespaceSelector: {matchLabels: {env-"+w.home+": prod}}}"))
	w.run()
	w.verdict("note", `"ready":true`)
	w.parent("Note", "n", "{}")
	label(`"prod"`)
	w.await(configMaps, w.home, "n", "is made once its Namespace is labelled", exists)
	label(`"test"`)
	w.awaitGone(configMaps, w.home, "n")
}

func TestParentPredicate(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "Note")
	w.rule("note", strings.ReplaceAll(note("x"), "kind: Note}", "kind: Note, when: \"${parent.spec.active}\"}"))
	w.run()
	w.parent("Note", "n", "{active: true}")
	w.await(configMaps, w.home, "n", "is made", exists)
	w.patch(w.resource("Note"), w.home, "n", `{"spec":{"active":false}}`)
	w.awaitGone(configMaps, w.home, "n")
}

// tagRule is for Notes that are marked: it says in their status what they say, and writes
// it on their Namespace.
var tagRule = strings.Replace(patchRule(`
- id: tag
  target: {apiVersion: v1, kind: Namespace, name: "${parent.metadata.namespace}"}
  template: {metadata: {labels: {"note-${parent.metadata.name}": "${parent.spec.text}"}}}
`), "  patches:\n", "  status: {said: \"${parent.spec.text}\"}\n  patches:\n", 1)

const marked = "kind: Note, selector: {matchLabels: {on: 'yes'}}}"

func tag(note, text string) func(*unstructured.Unstructured) bool {
	return has(text, "metadata", "labels", "note-"+note)
}

func untagged(note string) func(*unstructured.Unstructured) bool {
	return func(obj *unstructured.Unstructured) bool {
		_, there := obj.GetLabels()["note-"+note]
		return !there
	}
}

// silent holds for a parent in which no rule says anything any more.
func silent(obj *unstructured.Unstructured) bool {
	return field(obj, "status", "said") == nil && conditionStatus(obj, "Ready") == ""
}

// A parent that has no children loses what the rule said, and what it patched, when it
// leaves the selector, and when a revision has a selector that it is not in.
func TestParentWithoutChildrenThatIsNotSelected(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "Note")
	notes := w.resource("Note")
	narrow := strings.ReplaceAll(tagRule, "kind: Note}", marked)
	w.rule("r", narrow)
	w.run()
	mark := func(name, value string) {
		w.patch(notes, w.home, name, `{"metadata":{"labels":{"on":`+value+`}}}`)
	}
	w.parent("Note", "leaves", "{text: x}")
	w.parent("Note", "stays", "{text: x}")
	mark("leaves", `"yes"`)
	mark("stays", `"yes"`)
	for _, name := range []string{"leaves", "stays"} {
		w.await(notes, w.home, name, "is ready", isTrue("Ready"))
		w.await(namespaces, "", w.home, "is tagged for "+name, tag(name, "x"))
	}
	mark("leaves", "null")
	w.await(notes, w.home, "leaves", "is left alone", silent)
	w.await(namespaces, "", w.home, "is not tagged for it any more", untagged("leaves"))

	w.rule("r", tagRule) // for all
	w.await(notes, w.home, "leaves", "is ready again", isTrue("Ready"))
	w.await(namespaces, "", w.home, "is tagged for it again", tag("leaves", "x"))
	w.rule("r", narrow)
	w.await(notes, w.home, "leaves", "is left alone by the next revision", silent)
	w.await(namespaces, "", w.home, "is not tagged for it by the next revision", untagged("leaves"))

	// One that goes takes only what is its own.
	mark("leaves", `"yes"`)
	w.await(notes, w.home, "leaves", "is back", isTrue("Ready"))
	w.delete(notes, w.home, "leaves")
	w.await(namespaces, "", w.home, "is not tagged for what is gone", untagged("leaves"))
	w.quiet()
	if got := w.get(namespaces, "", w.home); !tag("stays", "x")(got) {
		t.Errorf("the other parent's label is gone: %v", got.GetLabels())
	}
}
