package engine_test

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kanon.dev/kanon/engine"
)

// A parent to which something happens does not wait for all those of its rule, which are
// looked at again because the rule has changed.
func TestNewParentBesideAChangeOfItsRule(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.define("Note")
	w.rule("note", note("first"))
	w.run(func(o *engine.Options) { o.Workers = 1 })
	for i := range 200 {
		w.parent("Note", fmt.Sprintf("n%d", i), "{}")
	}
	w.awaitAllReady("Note")

	w.rule("note", note("second"))
	w.awaitAny(configMaps, w.home, "", "follows the rule", has("second", "data", "text"))
	w.parent("Note", "late", "{}")
	w.await(configMaps, w.home, "late", "is made", exists)
	children, err := w.at(configMaps, w.home).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	waiting := 0
	for i := range children.Items {
		if has("first", "data", "text")(&children.Items[i]) {
			waiting++
		}
	}
	if waiting == 0 {
		t.Error("the child of the new parent was made after all others had been changed")
	}
}
