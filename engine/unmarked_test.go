package engine_test

import (
	"encoding/json"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"kanon.dev/kanon/engine/apply/mark"
)

// madeOnceRule makes a child as long as the parent says so, and another one while there is the first.
const madeOnceRule = `
apiVersion: kanon.dev/v1alpha1
kind: Rule
metadata: {name: once}
spec:
  parent: {apiVersion: $GROUP/v1, kind: Note}
  children:
  - id: first
    createWhen: ${parent.spec.make}
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: "${parent.metadata.name}-first"}
      data: {text: "${parent.spec.text}"}
  - id: second
    when: ${has(children.first)}
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: "${parent.metadata.name}-second"}
`

// A child that is not made any more, and whose mark somebody takes away, is still known to exist: it gets a new mark, and
// nothing that depends on it is deleted.
func TestMarkOfAChildThatIsMadeNoMore(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "Note")
	w.rule("once", madeOnceRule)
	w.run()
	w.parent("Note", "n", "{make: true, text: a}")
	second := w.await(configMaps, w.home, "n-second", "is made", exists)
	first := w.get(configMaps, w.home, "n-first")
	w.patch(w.resource("Note"), w.home, "n", `{"spec":{"make":false}}`)
	w.await(w.resource("Note"), w.home, "n", "is reconciled", func(obj *unstructured.Unstructured) bool {
		return conditionGeneration(obj, "Ready") == obj.GetGeneration()
	})
	w.patch(configMaps, w.home, "n-first", `{"metadata":{"annotations":{"`+mark.AnnotationApplied+`":null}}}`)
	w.await(configMaps, w.home, "n-first", "has a mark again", func(obj *unstructured.Unstructured) bool {
		return obj.GetAnnotations()[mark.AnnotationApplied] != ""
	})
	w.patch(w.resource("Note"), w.home, "n", `{"spec":{"text":"b"}}`)
	w.await(configMaps, w.home, "n-first", "follows its parent", has("b", "data", "text"))
	w.quiet()
	if w.get(configMaps, w.home, "n-second").GetUID() != second.GetUID() || w.get(configMaps, w.home, "n-first").GetUID() != first.GetUID() {
		t.Error("a child was created again")
	}
}

// rotating has a child and a patch.
const rotatingRule = `
apiVersion: kanon.dev/v1alpha1
kind: Rule
metadata: {name: rotating}
spec:
  parent: {apiVersion: $GROUP/v1, kind: Note}
  children:
  - id: config
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: "${parent.metadata.name}"}
      data: {text: "${parent.spec.text}"}
  patches:
  - id: target
    target: {apiVersion: v1, kind: ConfigMap, name: target}
    template: {data: {"${parent.metadata.name}": "${parent.spec.text}"}}
`

// While the keys are rotated all goes on, and each child gets a new mark.
func TestRotationOfKeys(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "Note")
	w.create(configMaps, w.object("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: target, namespace: $HOME}\n"))
	w.rule("rotating", rotatingRule)
	w.run()
	w.parent("Note", "n", "{text: a}")
	w.await(configMaps, w.home, "target", "is patched", has("a", "data", "n"))
	for _, text := range []string{"b", "c", "d"} {
		before := w.await(configMaps, w.home, "n", "is made", exists)
		w.patch(secrets, w.kanon, "kanon-keys", `{"metadata":{"annotations":{"kanon.dev/rotate":"now"}}}`)
		w.patch(w.resource("Note"), w.home, "n", `{"spec":{"text":"`+text+`"}}`)
		w.await(configMaps, w.home, "target", "follows the parent", has(text, "data", "n"))
		w.await(configMaps, w.home, "n", "has a new mark", func(obj *unstructured.Unstructured) bool {
			return field(obj, "data", "text") == text && sealOf(obj) != sealOf(before)
		})
	}
	w.quiet()
	w.delete(w.resource("Note"), w.home, "n")
	w.awaitGone(configMaps, w.home, "n")
}

// sealOf is the seal in a mark.
func sealOf(obj *unstructured.Unstructured) string {
	parts := strings.Split(obj.GetAnnotations()[mark.AnnotationApplied], ".")
	if len(parts) < 4 {
		return ""
	}
	return parts[3]
}

// Somebody who keeps taking a child's mark away is noticed, as with any other field.
func TestMarkThatOthersKeepTakingAway(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "Note")
	w.rule("note", note("x"))
	w.run()
	w.parent("Note", "n", "{}")
	w.await(configMaps, w.home, "n", "is made", exists)
	body, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]any{mark.AnnotationApplied: nil}}})
	if err != nil {
		t.Fatal(err)
	}
	stream, err := w.at(configMaps, w.home).Watch(t.Context(), metav1.ListOptions{FieldSelector: "metadata.name=n"})
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Stop()
	go func() {
		for event := range stream.ResultChan() {
			obj, ok := event.Object.(*unstructured.Unstructured)
			if ok && obj.GetAnnotations()[mark.AnnotationApplied] != "" {
				_, _ = w.at(configMaps, w.home).Patch(t.Context(), "n", types.MergePatchType, body, metav1.PatchOptions{FieldManager: "stripper"})
			}
		}
	}()
	w.await(w.resource("Note"), w.home, "n", "says that others take the mark away", func(obj *unstructured.Unstructured) bool {
		return conditionField(obj, "Stalled", "reason") == "Contested" || strings.Contains(conditionField(obj, "Stalled", "message"), mark.AnnotationApplied)
	})
}

// keepingRule keeps what it counts in a child, and makes another child as long as there is the first.
const keepingRule = `
apiVersion: kanon.dev/v1alpha1
kind: Rule
metadata: {name: keeping}
spec:
  parent: {apiVersion: $GROUP/v1, kind: Note}
  children:
  - id: state
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: "${parent.metadata.name}-state"}
      data: {first: "${observed.state == null ? parent.spec.text : observed.state.data.first}"}
  - id: dependent
    when: ${observed.state != null}
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: "${parent.metadata.name}-dependent"}
`

// While a child is out of view, what an expression observes is not the whole: nothing is deleted because of that, and what the
// child keeps is not written over.
func TestObservedChildWithoutItsMark(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "Note")
	w.rule("keeping", keepingRule)
	stop := w.run()
	w.parent("Note", "n", "{text: a}")
	dependent := w.await(configMaps, w.home, "n-dependent", "is made", exists)
	w.patch(w.resource("Note"), w.home, "n", `{"spec":{"text":"b"}}`)
	w.quiet()
	strip := func() {
		t.Helper()
		w.patch(configMaps, w.home, "n-state", `{"metadata":{"annotations":{"`+mark.AnnotationApplied+`":null}}}`)
	}
	hasMark := func(obj *unstructured.Unstructured) bool { return obj.GetAnnotations()[mark.AnnotationApplied] != "" }
	check := func(when string) {
		t.Helper()
		w.await(configMaps, w.home, "n-state", "has a mark again", hasMark)
		w.quiet()
		if got := field(w.get(configMaps, w.home, "n-state"), "data", "first"); got != "a" {
			t.Errorf("%s: the child says %v, want what it kept", when, got)
		}
		if w.get(configMaps, w.home, "n-dependent").GetUID() != dependent.GetUID() {
			t.Errorf("%s: what depends on the child was created again", when)
		}
	}
	strip()
	check("while Kanon runs")
	stop()
	strip()
	w.run()
	check("over a restart")
}
