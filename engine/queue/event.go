package queue

import "slices"

// Event is what enqueues a waiting key again. A key may wait only for an event that is sure to come, so each constant
// says who guarantees it.
type Event string

// The events that keys wait for.
const (
	// RuleStarts: Engine.enqueueAll enqueues every parent once the informers of the rule have synced, and package
	// patching every target.
	RuleStarts Event = "the start of the rule"
	// InformerSyncs: an informer that a rule reads from for the first time calls Engine.synced, and a reader of a
	// lookup is enqueued by Monitors.View.
	InformerSyncs Event = "the first list of an informer"
	// InputChanges: the parent is in the index of readers of what it lacks before it reads it, so an event of that object
	// enqueues it.
	InputChanges Event = "a change of an object that the parent reads"
	// NamespaceChanges: the informer of Namespaces enqueues the parents in a Namespace whose labels change.
	NamespaceChanges Event = "an event of the parent's Namespace"
	// Resumes: the event of the annotation enqueues the parent, and the start of its next operator those of a rule.
	Resumes Event = "the end of the suspension"
	// ChildEnds: the informer of children reports the end of a child. Monitors.Run reports it for a child that no
	// informer has shown, and the deletion of a parent has a resync of its own.
	ChildEnds Event = "the end of an object that is being deleted"
	// TargetIsWritten: package patching enqueues the contributors of a target after its reconcile, whatever came of it.
	TargetIsWritten Event = "the reconcile of a patch's target"
	// PauseEnds: Outcome.After is set. Otherwise the key is retried; see Outcome.IsSure.
	PauseEnds Event = "the end of a pause"
	// RightsChange: Outcome.After is how long an answer about rights counts, as for PauseEnds.
	RightsChange Event = "another answer about the rights of the rule"
)

// Events lists all of them.
func Events() []Event {
	return []Event{
		RuleStarts, InformerSyncs, InputChanges, NamespaceChanges, Resumes, ChildEnds, TargetIsWritten, PauseEnds, RightsChange,
	}
}

// Await returns the outcome of a reconcile after which the key waits for an event.
func Await(event Event) Outcome { return Outcome{Verdict: waiting, Awaits: []Event{event}} }

// AndAwait returns the outcome of a reconcile that also waits for an event.
func (o Outcome) AndAwait(event Event) Outcome {
	if !slices.Contains(o.Awaits, event) {
		o.Awaits = append(slices.Clone(o.Awaits), event)
	}
	return o.AtLeast(waiting)
}

// IsSure reports whether the event that a waiting key awaits is sure to come: a pause needs an end.
func (o Outcome) IsSure() bool {
	return o.After > 0 || !slices.Contains(o.Awaits, PauseEnds) && !slices.Contains(o.Awaits, RightsChange)
}

// IsDecided reports whether the rule was evaluated with all that it reads: other keys may rely on what was written then.
func (o Outcome) IsDecided() bool {
	return o.Err == nil && o.Retry == nil && o.Verdict != Later && !o.Undecided &&
		!slices.Contains(o.Awaits, RuleStarts) && !slices.Contains(o.Awaits, InformerSyncs) && !slices.Contains(o.Awaits, NamespaceChanges)
}
