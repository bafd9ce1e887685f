package reconcile

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kanon.dev/kanon/engine/apply/refusal"
	"kanon.dev/kanon/engine/conditions"
	"kanon.dev/kanon/engine/operator"
	"kanon.dev/kanon/engine/outcome"
	"kanon.dev/kanon/engine/plan"
	"kanon.dev/kanon/kinds/schemas"
	"kanon.dev/kanon/rules/program"
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

// Whichever phase finds a problem: if the rule has to do with Secrets, a text that may quote one
// is hidden before it is reported, logged or kept.
func TestProblemsOfSecretsAreHidden(t *testing.T) {
	t.Parallel()
	for _, hasSecrets := range []bool{false, true} {
		op := &operator.Operator{Plan: &plan.Plan{Program: &program.Program{HasSecrets: hasSecrets}}}
		p := &pass{changes: &changes{subject: &subject{op: op}}}
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
		changes := &changes{subject: &subject{op: &operator.Operator{Plan: &plan.Plan{Program: &program.Program{}}}}}
		reader := &reader{unseen: true}
		p := &pass{
			changes: changes, reader: reader, children: &childWriter{changes: changes, missed: missed}, deleter: &deleter{changes: changes, reader: reader},
		}
		if got := p.outcome().Verdict; (got == outcome.Again) != missed || got == outcome.Settled {
			t.Errorf("missed %t: the verdict is %s", missed, got)
		}
	}
}
