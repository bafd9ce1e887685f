package reconcile

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kanon.dev/kanon/engine/apply"
	"kanon.dev/kanon/engine/conditions"
	"kanon.dev/kanon/engine/operator"
	"kanon.dev/kanon/engine/queue"
	"kanon.dev/kanon/restmapping/openapi"
	"kanon.dev/kanon/rules/program"
)

// TestVerdictOnProblems holds what comes back to the queue and what the log is
// told, by the error of a write.
func TestVerdictOnProblems(t *testing.T) {
	tests := map[string]struct {
		err    error
		want   queue.Verdict
		logged bool
	}{
		"refused by the network":  {errors.New("connection refused"), queue.Again, true},
		"name taken":              {&apply.NameConflictError{}, queue.Again, false}, // a condition and an Event say so
		"on its way out":          {&apply.TerminatingError{}, queue.Again, false},  // it has an end
		"replaced meanwhile":      {&apply.ReplacedError{}, queue.Again, false},     // the next look settles it
		"kind installed just now": {fmt.Errorf("look up: %w", openapi.ErrNotPublished), queue.Again, false},
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

// Whichever phase finds a problem: if the rule has to do with Secrets, a text that may quote one
// is hidden before it is reported, logged or kept.
func TestProblemsOfSecretsAreHidden(t *testing.T) {
	t.Parallel()
	for _, hasSecrets := range []bool{false, true} {
		op := &operator.Operator{Plan: &operator.Plan{Program: &program.Program{HasSecrets: hasSecrets}}}
		p := &pass{op: op}
		denied := apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "n", errors.New(`admission webhook "w" denied the request: Hunter2`))
		p.add([]conditions.Problem{conditions.OfWrite("finalizer", denied), conditions.OfWrite("child kept", denied)})
		if len(p.problems) != 2 {
			t.Fatalf("%d problems were added", len(p.problems))
		}
		for _, problem := range p.problems {
			if strings.Contains(problem.String(), "Hunter2") == hasSecrets {
				t.Errorf("with Secrets %t, it says %q", hasSecrets, problem)
			}
		}
	}
}

// A child that exists although its informer did not show it keeps deletions waiting, and its event may enqueue nothing:
// the parent is tried again.
func TestMissedChildIsTriedAgain(t *testing.T) {
	t.Parallel()
	for _, missed := range []bool{false, true} {
		op := &operator.Operator{Plan: &operator.Plan{Program: &program.Program{}}}
		p := &pass{op: op, reader: &reader{unseen: true}, missed: missed}
		if got := p.outcome().Verdict; (got == queue.Again) != missed || got == queue.Settled {
			t.Errorf("missed %t: the verdict is %s", missed, got)
		}
	}
}
