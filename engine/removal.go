package engine

import (
	"slices"
	"strings"

	"kanon.dev/kanon/engine/apply/mark"
	"kanon.dev/kanon/engine/operator"
	"kanon.dev/kanon/engine/record"
	"kanon.dev/kanon/engine/source"
)

// covers reports whether one of the sources would find a text at an origin. A rule in a file does not count as removed
// because this process was started without that file.
func (e *Engine) covers(origin source.Origin) bool {
	return slices.ContainsFunc(e.options.Sources, func(s Source) bool {
		covering, ok := s.(interface{ Covers(source.Origin) bool })
		return ok && covering.Covers(origin)
	})
}

// finishRemoval forgets a rule, or its former kind of parents, once nothing of it is left.
func (e *Engine) finishRemoval(op *operator.Operator) {
	stored, ok := e.records.Get(op.ID)
	if !ok || e.patches.IsRestoring(op.ID) {
		return // the restoring of the last patch calls this again
	}
	entitled := func() bool { return e.running.IsCurrent(op) }
	left := slices.DeleteFunc(stored.Parents, func(kind record.Kind) bool { return kind.GVK() == op.Removal.Parent })
	if len(left) == 0 {
		e.records.DeleteIf(op.ID, entitled)
		return
	}
	e.records.UpdateIf(op.ID, entitled, func(r *record.Record) { r.Parents = left })
}

// isGone reports whether the rule that a child's owner names was one of this installation and certainly no longer
// exists.
func (e *Engine) isGone(owner mark.Owner) bool {
	known := e.running.Load().Rules
	if known == nil || known[owner.RuleID] {
		return false
	}
	// A seal proves this installation's key. An old mark has no seal, but names the rule.
	namespace, name, named := strings.Cut(owner.Rule, "/")
	return !named || mark.RuleID(e.options.Namespace, namespace, name) == owner.RuleID
}
