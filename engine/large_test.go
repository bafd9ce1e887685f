package engine_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kanon.dev/kanon/engine/apply/mark"
	"kanon.dev/kanon/internal/controlplanetest"
)

// largeRule makes a ConfigMap of 300 KB.
const largeRule = `
apiVersion: kanon.dev/v1alpha1
kind: Rule
metadata: {name: large}
spec:
  parent: {apiVersion: $GROUP/v1, kind: Box}
  children:
  - id: bulk
    updateWhen: ${!parent.spec.?frozen.orValue(false)}
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: "${parent.metadata.name}"}
      data: {text: "${parent.spec.text}", bulk: "BULK"}
`

func large(more string) string {
	return strings.Replace(largeRule, "BULK", strings.Repeat("x", 300_000), 1) + more
}

// A large child is handled like any other child, whether or not the rule reads its content.
func TestLargeChild(t *testing.T) {
	controlplanetest.Nightly(t)
	t.Parallel()
	w := newWorld(t, "Box")
	w.rule("large", large(""))
	stop := w.run()
	box := w.resource("Box")
	var want []string // the requests for the child
	becomes := func(text string, requests ...string) {
		t.Helper()
		w.await(configMaps, w.home, "n", "has text "+text, has(text, "data", "text"))
		want = append(want, requests...)
	}
	w.parent("Box", "n", "{text: a}")
	becomes("a", "POST")
	w.patch(box, w.home, "n", `{"spec": {"text": "b"}}`)
	becomes("b", "PUT")
	drift := func() {
		t.Helper()
		w.patch(configMaps, w.home, "n", `{"data": {"text": "theirs"}}`)
		becomes("b", "PUT")
	}
	drift()
	// What others add is no matter, nor is a restart.
	w.patch(configMaps, w.home, "n", `{"metadata": {"labels": {"theirs": "x"}}, "data": {"more": "x"}}`)
	stop()
	stop = w.run()
	w.awaitLook("n")
	drift()
	w.delete(configMaps, w.home, "n")
	becomes("b", "POST")

	// What is left as it is keeps its content, also where it gets its marks back.
	w.patch(box, w.home, "n", `{"spec": {"text": "c", "frozen": true}}`)
	w.await(box, w.home, "n", "is known to be frozen", isObserved)
	w.patch(configMaps, w.home, "n", `{"metadata": {"annotations": {"`+mark.AnnotationApplied+`": null}}}`)
	w.await(configMaps, w.home, "n", "is marked", func(obj *unstructured.Unstructured) bool {
		_, ok := mark.ReadOwner(obj)
		return ok
	})
	becomes("b", "GET", "PATCH")
	w.patch(box, w.home, "n", `{"spec": {"frozen": false}}`)
	becomes("c", "GET", "PATCH", "PATCH") // which paths it was applied with went with its mark

	// One that is read is whole, from the first look on, also for a rule that did not read it before.
	w.rule("large", large("  status: {color: \"${children.bulk.data.text} ${string(children.bulk.data.bulk.size())}\"}\n"))
	w.await(box, w.home, "n", "says what the child has", has("c 300000", "status", "color"))
	stop()
	w.run()
	w.awaitLook("n")
	w.patch(box, w.home, "n", `{"spec": {"text": "d"}}`)
	becomes("d", "PATCH")
	w.await(box, w.home, "n", "follows the child", has("d 300000", "status", "color"))
	w.quiet()

	var got []string
	for _, request := range w.requests.since(0) {
		verb, path, _ := strings.Cut(request, " ")
		if strings.HasPrefix(path, "/api/v1/namespaces/"+w.home+"/configmaps") {
			got = append(got, verb)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("requests for the child (-want +got):\n%s", diff)
	}
}

// isObserved tells whether what a parent says of being ready is about what it is now.
func isObserved(parent *unstructured.Unstructured) bool {
	conditions, _, _ := unstructured.NestedSlice(parent.Object, "status", "conditions")
	return slices.ContainsFunc(conditions, func(item any) bool {
		condition, ok := item.(map[string]any)
		return ok && condition["type"] == "Ready" && condition["observedGeneration"] == parent.GetGeneration()
	})
}
