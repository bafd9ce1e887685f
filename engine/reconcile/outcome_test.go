package reconcile

import (
	"errors"
	"fmt"
	"testing"

	"kanon.dev/kanon/engine/apply/refusal"
	"kanon.dev/kanon/engine/conditions"
	"kanon.dev/kanon/engine/outcome"
	"kanon.dev/kanon/kinds/schemas"
)

// TestVerdictOnProblems holds what comes back to the queue and what the log is
// told, by the error of a write.
func TestVerdictOnProblems(t *testing.T) {
	tests := map[string]struct {
		err    error
		want   outcome.Verdict
		logged bool
	}{
		"refused by the network":  {errors.New("connection refused"), outcome.Again, true},
		"name taken":              {&refusal.NameConflictError{}, outcome.Again, false}, // a condition and an Event say so
		"on its way out":          {&refusal.TerminatingError{}, outcome.Again, false},  // it has an end
		"replaced meanwhile":      {&refusal.ReplacedError{}, outcome.Again, false},     // the next look settles it
		"kind installed just now": {fmt.Errorf("look up: %w", schemas.ErrNotPublished), outcome.Again, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := outcomeOf([]conditions.Problem{conditions.OfWrite("child x", test.err)})
			if got.Verdict != test.want || (got.Err != nil) != test.logged {
				t.Errorf("outcome = %v, %v; want %v, an error for the log: %t", got.Verdict, got.Err, test.want, test.logged)
			}
		})
	}
}
