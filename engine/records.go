package engine

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"kanon.dev/kanon/engine/apply/mark"
	"kanon.dev/kanon/engine/catalog"
	"kanon.dev/kanon/engine/guard"
	"kanon.dev/kanon/engine/operator"
	"kanon.dev/kanon/engine/plan"
	"kanon.dev/kanon/engine/record"
	"kanon.dev/kanon/engine/source"
)

// requireRecord requests what the record of a rule must contain before the rule writes anything: above all the kinds of
// objects that it is about to create. It removes nothing, so that a kind that the rule drops is still known after a
// restart.
func (e *Engine) requireRecord(op *operator.Operator, origin record.Origin) {
	op.Origin = origin
	e.records.Update(op.ID, op.UpdateRecord)
}

// followRecords watches the annotations of records once a rule is in a file: users annotate the record of such a rule.
func (e *Engine) followRecords(all []catalog.Rule) {
	if slices.ContainsFunc(all, func(rule catalog.Rule) bool { return rule.Origin.Path != "" }) {
		e.records.Follow()
	}
}

// hasRecord reports whether the record in the cluster contains what the operator needs.
func (e *Engine) hasRecord(op *operator.Operator) bool {
	if op.HasRecord.Load() {
		return true
	}
	stored, ok := e.records.Get(op.ID)
	if !ok {
		return false
	}
	updated := stored.Clone()
	op.UpdateRecord(&updated)
	if !updated.Equal(&stored) {
		return false
	}
	op.HasRecord.Store(true)
	return true
}

// recordChanged starts what waited for a record. The record store calls it.
func (e *Engine) recordChanged(id string) {
	if op := e.running.Get(id); op != nil {
		if op.Removal == nil && op.Begun.Load() && e.guards.isEvaluated(op) {
			e.guards.reassess(op)
		} else {
			e.enqueueAll(op)
		}
	}
	e.inbox.Notify()
}

// recordBlocked writes to the record of a rule what its revision would delete and may not. It does so while the guard
// blocks the revision, and once the guard has released it; in between, the record stays as it is. For a rule in a file,
// which has no object with a status, the record also has the message.
func (e *Engine) recordBlocked() {
	blocked := e.guards.blocked()
	for id, op := range e.running.Load().ByID {
		if op.Removal != nil || blocked[id] == nil && !e.guards.isReleased(op) {
			continue
		}
		now := blockedRecord(op, blocked[id])
		e.records.UpdateIf(id, func() bool { return e.running.IsCurrent(op) }, func(r *record.Record) { r.Blocked = now })
	}
}

// recordReports writes the reports on rules in files to their records. Other rules have an object with a status.
func (e *Engine) recordReports(reports map[source.Origin]source.Report) {
	for origin, report := range reports {
		for _, rule := range report.Rules {
			var now *record.Report
			if origin.Path != "" {
				now = &record.Report{Ready: rule.Ready, Reason: rule.Reason, Message: rule.Message}
			}
			e.records.Report(rule.ID, now)
		}
	}
}

// blockedRecord returns what the record says about what the guard blocks.
func blockedRecord(op *operator.Operator, blocked *guard.Blocked) *record.Blocked {
	if blocked == nil {
		return nil
	}
	now := &record.Blocked{Revision: blocked.Revision, Reason: blocked.Reason, Objects: blocked.Objects, More: blocked.More}
	if op.Origin.Path != "" {
		now.Message = messageOf(blocked)
	}
	return now
}

// recordPaused updates the records of rules that do not run from their texts, so that the removal of such a rule
// follows its last text and not the last one that ran.
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

// previous returns the operator that a new one replaces: the one that this process knows, or else one made of the
// record.
func (e *Engine) previous(known *operator.Operator, rule catalog.Rule) *operator.Operator {
	stored, ok := e.records.Get(rule.ID)
	if known != nil || !ok {
		return known
	}
	kinds := make([]schema.GroupVersionKind, len(stored.Children))
	for i, kind := range stored.Children {
		kinds[i] = kind.GVK() // plan.New finds out which of them the cluster has
	}
	return &operator.Operator{Plan: plan.Former(rule.ID, rule.Name, kinds)}
}

// keysChanged handles that the keys that seal marks were read for the first time, have changed, or cannot be read.
// Nothing is compared or written before they are known, because a child could not be distinguished from a copy.
func (e *Engine) keysChanged() {
	keys := e.keys.Keyring()
	if before := e.sealing.Swap(keys); before != nil && before != keys {
		// The old keys decided which objects with the label of children count, and marks with an old seal get a new
		// one. When these informers have synced again, all parents of their rules are reconciled.
		e.monitors.Relist(mark.LabelRule)
	}
	if e.leads() { // otherwise the records are not followed yet
		e.records.Sync()
	}
	e.inbox.Notify()
}
