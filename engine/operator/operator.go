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
	"kanon.dev/kanon/engine/record"
	"kanon.dev/kanon/restmapping"
	"kanon.dev/kanon/rules/program"
)

// Operator is one rule that runs: its plan, which does not change, and its progress in starting.
type Operator struct {
	*Plan

	// Guard decides whether the revision may delete. Package engine has a lock for it.
	Guard *guard.Guard
	// Removal is set if the rule, or its former kind of parents, was removed and is being cleaned up.
	Removal *Removal
	// Origin is where the text of the rule is.
	Origin record.Origin
	// started is when this revision of the rule began to run in this process.
	started time.Time

	// HasRecord is set once the rule's record has what the rule needs before it writes anything.
	HasRecord atomic.Bool
	// Begun is set once the rule's parents were enqueued for the first time.
	Begun atomic.Bool
	// Explained is set once an Event has explained why there are no conditions.
	Explained atomic.Bool
	// Searched is set once the search for parents with the finalizer that no informer shows is done.
	Searched atomic.Bool
	// ReadsParents is set while the ServiceAccount of a tenant's rule may read all objects of its parents' kind.
	ReadsParents atomic.Bool
	// Verbosity is the log level for the rule, if it is higher than that of the log.
	Verbosity atomic.Int32
	// ReadsObserved is set once an expression has read how a child was before the reconcile.
	ReadsObserved atomic.Bool
}

// New plans a rule. previous is the operator that it replaces, or nil. The error is a [MissingKindError] if the kind of
// the parents does not exist.
func New(id string, name types.NamespacedName, program *program.Program, mapper *restmapping.Mapper, previous *Operator) (*Operator, error) {
	planned, err := newPlan(id, name, program, mapper, previous)
	if err != nil {
		return nil, err
	}
	op := &Operator{Plan: planned, Guard: planned.guardAfter(previous), started: time.Now()}
	if previous != nil && previous.Program != nil && previous.Program.Hash == program.Hash {
		op.started = previous.started
		op.Explained.Store(previous.Explained.Load())
	}
	return op, nil
}

// Former returns what is known of the operator of a rule that ran in another process: the kinds of its children. New
// finds out which of them the cluster has.
func Former(kinds []schema.GroupVersionKind) *Operator { return &Operator{Plan: &Plan{Absent: kinds}} }

// Remains returns what is kept of an operator that was stopped, for one that may replace it.
func (op *Operator) Remains() *Operator {
	return &Operator{Plan: &Plan{Parent: op.Parent, Children: op.Children, Retired: op.Retired, Absent: op.Absent}}
}

// IsNewerThan reports whether the rule was started after an object was created. The API server reports that time in
// whole seconds; within the same second, the object counts as the newer one.
func (op *Operator) IsNewerThan(created time.Time) bool {
	return created.Before(op.started.Truncate(time.Second))
}

// UpdateRecord adds to a record what the operator needs in it.
func (op *Operator) UpdateRecord(r *record.Record) {
	if op.Removal != nil {
		return // it creates nothing
	}
	r.Removal = ""
	r.Rule, r.Origin, r.OnRuleDeletion = op.Name.String(), op.Origin, op.Program.OnRuleDeletion
	r.ServiceAccountName, r.Confined = op.Program.ServiceAccountName, op.Program.Confined
	r.ConditionPrefix, r.Conditions = op.Program.ConditionPrefix, op.Program.ConditionTypes()
	r.HidesNames = r.HidesNames || op.Program.HidesNames
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

// HasPatch reports whether the rule has a patch of a record.
func (op *Operator) HasPatch(p record.Patch) bool {
	return slices.ContainsFunc(op.Program.Patches, func(patch *program.Patch) bool { return patch.ID == p.ID && patch.GVK == p.GVK() })
}

// guardAfter returns the guard of a plan: that of the operator before, if it covers the plan's revision, else a new one.
func (p *Plan) guardAfter(previous *Operator) *guard.Guard {
	r := guard.Revision{Hash: p.Program.Hash, Limit: p.Program.PruneLimit}
	for kind := range p.ChildKinds() {
		r.Kinds = append(r.Kinds, kind.GVK)
	}
	if previous != nil && previous.Guard != nil && previous.Guard.Covers(r) {
		return previous.Guard
	}
	return guard.New(r)
}
