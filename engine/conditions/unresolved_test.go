package conditions_test

import (
	"errors"
	"testing"

	"kanon.dev/kanon/engine/apply/refusal"
	"kanon.dev/kanon/engine/conditions"
	"kanon.dev/kanon/rules/program"
)

// A transient problem is reported once it has lasted, with what the API server said, and no longer once it is resolved.
func TestUnresolved(t *testing.T) {
	t.Parallel()
	var count conditions.Unresolved
	reconcile := func(errs ...error) conditions.Summary {
		var problems []conditions.Problem
		for _, err := range errs {
			problems = append(problems, conditions.OfWrite("child a", err))
		}
		count.Count(problems)
		return conditions.Summarize(problems, program.Result{}, "")
	}
	transient := &refusal.ReplacedError{Err: errors.New("no such write today")}
	for round := range 2 {
		for n := range 6 {
			if got := reconcile(transient); got.Type != conditions.Ready {
				t.Errorf("round %d: after %d reconciles the parent is %+v", round, n+1, got)
			}
		}
		for range 2 {
			want := conditions.Summary{Type: conditions.Reconciling, Reason: "WriteFailed", Message: "child a: no such write today (more than 6 times in a row)"}
			if got := reconcile(transient); got != want {
				t.Errorf("round %d: the parent is %+v, want %+v", round, got, want)
			}
		}
		if got := reconcile(); got.Type != conditions.Ready {
			t.Errorf("round %d: once it is resolved, the parent is %+v", round, got)
		}
	}
	other := errors.New("out of reach")
	if got := reconcile(other); got.Message != "child a: out of reach" {
		t.Errorf("another problem is reported as %+v", got)
	}
	for range 7 {
		reconcile(conditions.Transient("it is in the way"), other)
	}
	if got, want := reconcile(conditions.Transient("it is in the way"), other).Message,
		"child a: it is in the way (more than 6 times in a row); child a: out of reach"; got != want {
		t.Errorf("the message is %q, want %q", got, want)
	}
}
