package engine

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"kanon.dev/kanon/engine/catalog"
	"kanon.dev/kanon/engine/plan"
	"kanon.dev/kanon/engine/record"
)

// requireRecord asks for what the record of a rule must have before the rule writes anything: above all the kinds of objects
// that it is about to create. Nothing is taken out here, so that a kind which the rule drops is still known after a restart.
func (e *Engine) requireRecord(op *operator, origin record.Origin) {
	op.origin = origin
	e.records.Update(op.ID, op.updateRecord)
}

// updateRecord puts into a record what the operator needs to have in it.
func (op *operator) updateRecord(r *record.Record) {
	if op.removal != nil {
		return // it creates nothing
	}
	r.Rule, r.Origin, r.OnRuleDeletion = op.Name.String(), op.origin, op.Program.OnRuleDeletion()
	r.ConditionPrefix, r.Conditions = op.Program.ConditionPrefix(), op.Program.ConditionTypes()
	r.AddParent(op.Parent.GVK)
	for _, gvk := range slices.SortedFunc(maps.Keys(op.Children), compareKinds) {
		r.AddChild(gvk)
	}
	r.Finalizers = r.Finalizers || op.MayNeedFinalizer()
	for _, patch := range op.Program.Patches() {
		r.AddPatch(patch.ID, patch.GVK)
	}
}

func compareKinds(a, b schema.GroupVersionKind) int { return strings.Compare(a.String(), b.String()) }

// hasRecord reports whether the cluster has what the operator needs in its record.
func (e *Engine) hasRecord(op *operator) bool {
	if op.hasRecord.Load() {
		return true
	}
	stored, ok := e.records.Get(op.ID)
	if !ok {
		return false
	}
	updated := stored.Clone()
	op.updateRecord(&updated)
	if !updated.Equal(&stored) {
		return false
	}
	op.hasRecord.Store(true)
	return true
}

// recordChanged starts what waited for a record. The store calls it.
func (e *Engine) recordChanged(id string) {
	if op := e.running.load().byID[id]; op != nil {
		if op.removal == nil && op.begun.Load() && e.isEvaluated(op) {
			e.reassess(op)
		} else {
			e.enqueueAll(op)
		}
	}
	e.inbox.Notify()
}

// recordBlocked has the record of a rule in a file say what the rule's revision would delete and may not. That is known while
// the guard blocks the revision, and once it does not; in between the message stays.
func (e *Engine) recordBlocked() {
	blocked := e.guards.blocked()
	for id, op := range e.running.load().byID {
		message := ""
		if op.origin.Path != "" {
			message = blocked[id]
		}
		if op.removal != nil || message == "" && op.origin.Path != "" && !e.isReleased(op) {
			continue
		}
		e.records.UpdateIf(id, func() bool { return e.isCurrent(op) }, func(r *record.Record) { r.Blocked = message })
	}
}

// recordPaused has the records of rules that do not run follow their texts: a rule that is removed then ends as its last text
// has it, and not as the last one that ran.
func (e *Engine) recordPaused(all []catalog.Rule) {
	for _, rule := range all {
		if rule.Program != nil {
			continue
		}
		if _, ok := e.records.Get(rule.ID); ok {
			e.records.Update(rule.ID, func(r *record.Record) {
				r.Origin, r.OnRuleDeletion = record.OriginOf(rule.Origin), rule.OnRuleDeletion(r.OnRuleDeletion)
			})
		}
	}
}

// previous is the operator that a new one replaces: the one that this process knows, or else what the record has of it.
func (e *Engine) previous(known *operator, rule catalog.Rule) *operator {
	stored, ok := e.records.Get(rule.ID)
	if known != nil || !ok {
		return known
	}
	kinds := make([]schema.GroupVersionKind, len(stored.Children))
	for i, kind := range stored.Children {
		kinds[i] = kind.GVK() // as far as it is known here
	}
	return &operator{Plan: plan.Former(rule.ID, rule.Name, kinds)}
}
