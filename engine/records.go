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

// requireRecord asks for what the record of a rule must have before the rule writes anything: above all the kinds of objects
// that it is about to create. Nothing is taken out here, so that a kind which the rule drops is still known after a restart.
func (e *Engine) requireRecord(op *operator.Operator, origin record.Origin) {
	op.Origin = origin
	e.records.Update(op.ID, op.UpdateRecord)
}

// followRecords has the annotations of records watched as soon as a rule is in a file: what people ask about it, they write there.
func (e *Engine) followRecords(all []catalog.Rule) {
	if slices.ContainsFunc(all, func(rule catalog.Rule) bool { return rule.Origin.Path != "" }) {
		e.records.Follow()
	}
}

// hasRecord reports whether the cluster has what the operator needs in its record.
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

// recordChanged starts what waited for a record. The store calls it.
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

// recordBlocked has the record of a rule say what the rule's revision would delete and may not. That is known while the guard blocks
// the revision, and once it does not; in between it stays. For a rule in a file, which has no object with a status, the record has the
// message as well.
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

// recordReports has the records of rules in files say how these fare. Other rules have an object for that.
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

// blockedRecord is what the record has of what the guard blocks.
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
func (e *Engine) previous(known *operator.Operator, rule catalog.Rule) *operator.Operator {
	stored, ok := e.records.Get(rule.ID)
	if known != nil || !ok {
		return known
	}
	kinds := make([]schema.GroupVersionKind, len(stored.Children))
	for i, kind := range stored.Children {
		kinds[i] = kind.GVK() // as far as it is known here
	}
	return &operator.Operator{Plan: plan.Former(rule.ID, rule.Name, kinds)}
}

// keysChanged takes in that the keys which seal marks were read for the first time, or are other ones, or cannot be read.
// Nothing is compared or written before they are known: no child could be told from a copy.
func (e *Engine) keysChanged() {
	keys := e.keys.Keyring()
	if before := e.sealing.Swap(keys); before != nil && before != keys {
		// Which objects with the label of children count was decided by the keys at the time, and what was sealed by an old
		// key gets a new seal. When these informers have filled, all parents of their rules are reconciled.
		e.monitors.Relist(mark.LabelRule)
	}
	if e.leads() { // else they are not followed yet
		e.records.Sync()
	}
	e.inbox.Notify()
}
