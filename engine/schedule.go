package engine

import (
	"strings"

	"kanon.dev/kanon/engine/pacing"
)

// planNext keeps when this reconcile was and what it saw as now, and requeues the parent for when something changes that the
// rule computed from now. The queue keeps the first of several times for one key; one that no longer has a reason costs an
// evaluation and nothing more.
func (p *pass) planNext() {
	due := pacing.DueAt(p.seen, p.evaluation.WakeAt(), p.outcome.RequeueAfter)
	if !due.IsZero() {
		p.requeueAfter(due.Sub(p.now()))
	}
	if p.reader.incomplete || p.evaluation.Starved() {
		return // this reconcile does not count: the next one comes as soon as it can
	}
	// The text outlives the parent as it is now.
	next := pacing.Schedule{Requested: strings.Clone(p.parent.GetAnnotations()[annotationReconcileAt])}
	if next.Interval = p.outcome.MinInterval; next.Interval > 0 {
		next.Started = p.started
	}
	if program := p.op.Program; program.Drifts() {
		next.Seen, next.Due = p.seen, due
	} else if program.ReadsStatus() {
		next.Due = due
	}
	if p.memory != nil {
		p.memory.Schedule = next
	}
}
