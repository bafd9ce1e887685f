package engine_test

import (
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// atomicDefinition is a definition whose conditions are one value to the API server.
func (w *world) atomicDefinition(kind string) *unstructured.Unstructured {
	w.t.Helper()
	definition := w.definition(kind)
	conditions, _, err := unstructured.NestedFieldNoCopy(statusSchema(w.t, definition), "properties", "conditions")
	if err != nil {
		w.t.Fatal(err)
	}
	delete(conditions.(map[string]any), "x-kubernetes-list-type")
	delete(conditions.(map[string]any), "x-kubernetes-list-map-keys")
	return definition
}

// typesOf lists the types of an object's conditions, in their order.
func typesOf(obj *unstructured.Unstructured) string {
	list, _, _ := unstructured.NestedSlice(obj.Object, "status", "conditions")
	var names []string
	for _, item := range list {
		names = append(names, fmt.Sprint(item.(map[string]any)["type"]))
	}
	return strings.Join(names, " ")
}

// Where the API server takes the conditions for one value, Kanon's and the rule's are
// put beside those of others, kept, and taken away again; a type that somebody else
// had is left to them.
func TestConditionsInOneValue(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.install(w.atomicDefinition("Note"))
	notes := w.resource("Note")
	rule := strings.ReplaceAll(conditionsRule, "kind: Note}", "kind: Note, selector: {matchExpressions: [{key: out, operator: DoesNotExist}]}}")
	w.rule("conditions", rule)
	w.parent("Note", "theirs", "{lit: true, by: one}")
	w.patchStatus(notes, w.home, "theirs", `{"status":{"conditions":[{"type":"Synced","status":"True"},{"type":"Lit","status":"Unknown","reason":"Theirs"}]}}`)
	stop := w.run()
	w.verdict("conditions", `"ready":true`)
	w.parent("Note", "n", "{lit: true, by: one}")
	current := func(obj *unstructured.Unstructured) bool { // what kubectl wait --for=condition=Ready asks
		list, _, _ := unstructured.NestedSlice(obj.Object, "status", "conditions")
		for _, item := range list {
			if c := item.(map[string]any); c["type"] == "Ready" {
				return c["status"] == "True" && c["observedGeneration"] == obj.GetGeneration()
			}
		}
		return false
	}
	made := w.await(notes, w.home, "n", "is ready", current)
	if got := typesOf(made); got != "Lit Ready" {
		t.Errorf("the conditions are %s", got)
	}
	left := w.await(notes, w.home, "theirs", "is ready", current)
	if got := typesOf(left); got != "Synced Lit Ready" || conditionField(left, "Lit", "reason") != "Theirs" {
		t.Errorf("the conditions are %s: %v", got, field(left, "status"))
	}
	since := conditionField(made, "Ready", "lastTransitionTime")

	// Others write the whole list as they know it.
	w.update(notes, w.home, "n", func(live *unstructured.Unstructured) {
		list, _, _ := unstructured.NestedSlice(live.Object, "status", "conditions")
		live.Object["status"].(map[string]any)["conditions"] = append([]any{map[string]any{"type": "Synced", "status": "False"}}, list...)
	}, "status")
	w.patch(notes, w.home, "n", `{"spec":{"lit":false}}`)
	changed := w.await(notes, w.home, "n", "is not lit", func(obj *unstructured.Unstructured) bool {
		return current(obj) && conditionStatus(obj, "Lit") == "False"
	})
	if got := typesOf(changed); got != "Synced Lit Ready" || conditionField(changed, "Ready", "lastTransitionTime") != since {
		t.Errorf("the conditions are %s, ready since %s: %v", got, since, field(changed, "status"))
	}
	w.quiet()
	stop()
	from := w.requests.count()
	stop = w.run()
	w.awaitLook("n")
	w.quiet()
	for _, request := range w.requestsAtHome(from) {
		if !strings.HasPrefix(request, "GET ") {
			t.Errorf("a restart with all in place wrote: %s", request)
		}
	}

	// What is in the way is said, and taken back.
	w.patch(notes, w.home, "n", `{"spec":{"by":null}}`)
	stalled := w.await(notes, w.home, "n", "is stalled", isTrue("Stalled"))
	if got := typesOf(stalled); got != "Synced Lit Ready Stalled" {
		t.Errorf("the conditions are %s", got)
	}
	w.patch(notes, w.home, "n", `{"spec":{"by":"two"}}`)
	if got := typesOf(w.await(notes, w.home, "n", "is ready", current)); got != "Synced Lit Ready" {
		t.Errorf("the conditions are %s", got)
	}
	_, err := w.at(notes, w.home).Patch(t.Context(), "n", types.MergePatchType, []byte(`{"metadata":{"labels":{"out":""}}}`), metav1.PatchOptions{})
	if err != nil {
		t.Fatal(err)
	}
	w.await(notes, w.home, "n", "has others' conditions only", func(obj *unstructured.Unstructured) bool { return typesOf(obj) == "Synced" })
	w.quiet()
	stop()
}
