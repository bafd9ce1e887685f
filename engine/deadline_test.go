package engine_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kanon.dev/kanon/engine"
	"kanon.dev/kanon/engine/apply/mark"
	"kanon.dev/kanon/rules/program"
)

// An evaluation that a busy machine did not end in time is tried again without any
// event, with pauses.
func TestEvaluationOutOfTimeIsTriedAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "Note")
	w.rule("note", note(`"${string(lists.range(1000).map(x, x + 1).size())}"`))
	w.run(func(o *engine.Options) { o.Limits = program.Limits{Deadline: 1} })
	w.parent("Note", "n", "{}")
	w.await(w.resource("Note"), w.home, "n", "is stalled", isTrue("Stalled"))
	before := w.looks("n")
	for deadline := time.Now().Add(patience); w.looks("n") < before+4; {
		if time.Now().After(deadline) {
			t.Fatalf("it was looked at %d times, and not again", w.looks("n"))
		}
		<-time.After(50 * time.Millisecond) // the count is nowhere to be watched
	}
}

// What becomes of the children of a parent that is being deleted is not decided by an evaluation that took too long, and
// not by what was decided before: nothing is deleted, and the parent says so.
func TestLateDecisionDeletesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "Note")
	w.rule("note", strings.Replace(note(`"${string(lists.range(1000).map(x, x + 1).size())}"`), "    template:",
		"    deletionPolicy: {whenDeleted: \"${parent.spec.?keep.orValue(false) ? 'Orphan' : 'Delete'}\"}\n    template:", 1))
	stop := w.run()
	w.parent("Note", "a", "{}")
	w.await(w.resource("Note"), w.home, "a", "is ready", isTrue("Ready"))
	stop()
	w.patch(w.resource("Note"), w.home, "a", `{"spec": {"keep": true}}`)
	w.delete(w.resource("Note"), w.home, "a")
	stop = w.run(func(o *engine.Options) { o.Limits = program.Limits{Deadline: 1} })
	w.await(w.resource("Note"), w.home, "a", "says what it waits for", func(obj *unstructured.Unstructured) bool {
		return strings.Contains(fmt.Sprint(conditionField(obj, "Reconciling", "message")), "nothing is deleted until it is known which children stay")
	})
	stop()
	w.run()
	w.awaitGone(w.resource("Note"), w.home, "a")
	w.await(configMaps, w.home, "a", "is let go", func(obj *unstructured.Unstructured) bool {
		_, owned := obj.GetAnnotations()[mark.AnnotationOwner]
		return !owned
	})
}
