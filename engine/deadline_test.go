package engine_test

import (
	"testing"
	"time"

	"kanon.dev/kanon/engine"
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
