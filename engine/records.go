package engine

import (
	"kanon.dev/kanon/engine/apply/mark"
	"kanon.dev/kanon/engine/catalog"
	"kanon.dev/kanon/engine/guard"
	"kanon.dev/kanon/engine/operator"
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
	for id, op := range e.running.Load().ByID {
		blocked := e.guards.blocked(op)
		if op.Removal != nil || blocked == nil && !e.guards.isReleased(op) {
			continue
		}
		now := blockedRecord(op, blocked)
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
			e.records.Note(rule.ID, func(r *record.Record) { r.Report = now })
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
