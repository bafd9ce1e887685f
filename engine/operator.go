package engine

import (
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"kanon.dev/kanon/engine/apply/fieldset"
	"kanon.dev/kanon/engine/contributions"
	"kanon.dev/kanon/engine/plan"
	"kanon.dev/kanon/engine/record"
	"kanon.dev/kanon/restmapping"
	"kanon.dev/kanon/rules"
)

// operator is one rule that runs: its plan, which does not change, and how far it has started.
type operator struct {
	*plan.Plan

	// started is when the rule, in this revision, began to run in this process.
	started time.Time
	// removal is set if the rule, or its kind of parents, was removed, and what it created is being cleaned up.
	removal *removal
	// contributing stands for this start of the rule in the account of what parents set by patches.
	contributing *contributions.Revision
	// origin is where the text of the rule is.
	origin record.Origin

	// hasRecord is set once the rule's record has what it must before the rule writes anything.
	hasRecord atomic.Bool
	// begun is set once its parents were enqueued for the first time.
	begun atomic.Bool
	// explained is set once an Event has said why there are no conditions.
	explained atomic.Bool
	// sought is set once parents that have the finalizer and that no informer shows were looked for.
	searched atomic.Bool
	// readsObserved is set once an expression has asked how a child was before the reconcile.
	readsObserved atomic.Bool
}

// newOperator plans a rule. previous is the operator that it replaces, or nil. It fails if the kind of the parents does not
// exist any more.
func newOperator(id string, name types.NamespacedName, program *rules.Program, mapper *restmapping.Mapper, previous *operator) (*operator, error) {
	planned, err := plan.New(id, name, program, mapper, previous.planned())
	if err != nil {
		return nil, err
	}
	op := &operator{
		Plan: planned, started: time.Now(),
		contributing: &contributions.Revision{Rule: id, Kinds: make(map[string]schema.GroupVersionKind)},
	}
	for id, patch := range planned.Patches {
		op.contributing.Kinds[id] = patch.GVK
	}
	if previous != nil && previous.Program != nil && previous.Program.Hash() == program.Hash() {
		op.started = previous.started
		op.explained.Store(previous.explained.Load())
	}
	return op, nil
}

// planned is the plan of an operator; nil if there is none.
func (op *operator) planned() *plan.Plan {
	if op == nil {
		return nil
	}
	return op.Plan
}

// generatedPaths are the paths of generated fields as the writer takes them.
func generatedPaths(generated [][]string) []fieldset.Path {
	var out []fieldset.Path
	for _, fields := range generated {
		path := make(fieldset.Path, len(fields))
		for i, name := range fields {
			path[i] = fieldset.Step{Field: name}
		}
		out = append(out, path)
	}
	return out
}

// isNewerThan tells whether the rule was started after an object was created. The API server reports that time in whole
// seconds; within one second the object counts as the later one.
func (op *operator) isNewerThan(created time.Time) bool {
	return created.Before(op.started.Truncate(time.Second))
}

// remains is what is kept of an operator that was stopped, for the one that may replace it.
func remains(op *operator) *operator { return &operator{Plan: op.Remains()} }

// plansOf are the plans of operators.
func plansOf(ops []*operator) []*plan.Plan {
	plans := make([]*plan.Plan, len(ops))
	for i, op := range ops {
		plans[i] = op.Plan
	}
	return plans
}
