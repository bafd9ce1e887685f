package operator

import (
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"kanon.dev/kanon/engine/guard"
	"kanon.dev/kanon/engine/plan"
	"kanon.dev/kanon/engine/record"
	"kanon.dev/kanon/engine/removal"
	"kanon.dev/kanon/kinds/restmapping"
	"kanon.dev/kanon/rules/program"
)

// Operator is one rule that runs: its plan, which does not change, and how far it has started.
type Operator struct {
	*plan.Plan

	// Removal is set if the rule, or its kind of parents, was removed, and what it created is being cleaned up.
	Removal *removal.Removal
	// Origin is where the text of the rule is.
	Origin record.Origin
	// started is when the rule, in this revision, began to run in this process.
	started time.Time

	// HasRecord is set once the rule's record has what it must before the rule writes anything.
	HasRecord atomic.Bool
	// Begun is set once its parents were enqueued for the first time.
	Begun atomic.Bool
	// Explained is set once an Event has said why there are no conditions.
	Explained atomic.Bool
	// Searched is set once parents were searched for that have the finalizer and that no informer shows.
	Searched atomic.Bool
	// ReadsParents is set while the ServiceAccount of a tenant's rule may read all objects of the kind of its parents.
	ReadsParents atomic.Bool
	// Verbosity is how much is logged about the rule, beyond what is logged anyway.
	Verbosity atomic.Int32
	// ReadsObserved is set once an expression has asked how a child was before the reconcile.
	ReadsObserved atomic.Bool
}

// New plans a rule. previous is the operator that it replaces, or nil. It fails if the kind of the parents does not exist any
// more.
func New(id string, name types.NamespacedName, program *program.Program, mapper *restmapping.Mapper, previous *Operator) (*Operator, error) {
	var before *plan.Plan
	if previous != nil {
		before = previous.Plan
	}
	planned, err := plan.New(id, name, program, mapper, before)
	if err != nil {
		return nil, err
	}
	op := &Operator{Plan: planned, started: time.Now()}
	if previous != nil && previous.Program != nil && previous.Program.Hash == program.Hash {
		op.started = previous.started
		op.Explained.Store(previous.Explained.Load())
	}
	return op, nil
}

// IsNewerThan tells whether the rule was started after an object was created. The API server reports that time in whole
// seconds; within one second the object counts as the later one.
func (op *Operator) IsNewerThan(created time.Time) bool {
	return created.Before(op.started.Truncate(time.Second))
}

// UpdateRecord puts into a record what the operator needs to have in it.
func (op *Operator) UpdateRecord(r *record.Record) {
	if op.Removal != nil {
		return // it creates nothing
	}
	r.Removal = ""
	r.Rule, r.Origin, r.OnRuleDeletion = op.Name.String(), op.Origin, op.Program.OnRuleDeletion
	r.ServiceAccountName, r.Confined = op.Program.ServiceAccountName, op.Program.Confined
	r.ConditionPrefix, r.Conditions = op.Program.ConditionPrefix, op.Program.ConditionTypes()
	r.AddParent(op.Parent.GVK)
	for _, gvk := range slices.SortedFunc(maps.Keys(op.Children), compareKinds) {
		r.AddChild(gvk)
	}
	r.Finalizers = r.Finalizers || op.MayNeedFinalizer()
	for _, patch := range op.Program.Patches {
		r.AddPatch(patch.ID, patch.GVK)
	}
}

func compareKinds(a, b schema.GroupVersionKind) int { return strings.Compare(a.String(), b.String()) }

// HasPatch tells whether the rule has a patch of a record.
func (op *Operator) HasPatch(p record.Patch) bool {
	return slices.ContainsFunc(op.Program.Patches, func(patch *program.Patch) bool { return patch.ID == p.ID && patch.GVK == p.GVK() })
}

// Revision is what the guard needs to know of the operator.
func (op *Operator) Revision() guard.Revision {
	r := guard.Revision{Hash: op.Program.Hash, Limit: op.Program.PruneLimit}
	for kind := range op.ChildKinds() {
		r.Kinds = append(r.Kinds, kind.GVK)
	}
	return r
}
