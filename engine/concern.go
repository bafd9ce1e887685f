package engine

import (
	"maps"

	"k8s.io/client-go/tools/cache"

	"kanon.dev/kanon/engine/apply/fieldset"
	"kanon.dev/kanon/engine/apply/mark"
	"kanon.dev/kanon/engine/feedback"
	"kanon.dev/kanon/engine/identity"
	"kanon.dev/kanon/engine/monitor"
	"kanon.dev/kanon/engine/operator"
	"kanon.dev/kanon/engine/parents"
	"kanon.dev/kanon/engine/plan"
	"kanon.dev/kanon/engine/queue"
)

// concern is a key that an event concerns.
type concern struct {
	op  *operator.Operator
	key queue.Key
	as  role
}

// role is what the object of an event is to the parent of a key, or to the target of a patch.
type role int

const (
	// asParent is the parent itself, in the informer of the rule's parents.
	asParent role = iota + 1
	// asNamespace is the parent's namespace.
	asNamespace
	// asChild is a child of the parent, by its mark.
	asChild
	// asLookup is an object that was read for the parent, or that was looked for.
	asLookup
)

// concerned returns the keys that an event concerns. Operators that have not begun need no child and no Namespace: they
// reconcile all their parents when they begin. Of parents and lookups, enqueue records the deletion.
func (e *Engine) concerned(running *operator.Set, event monitor.Event) []concern {
	var found []concern
	for _, tag := range event.Tags() { // whoever changes a child can change its mark too, so both states count
		k, ok := queue.ParseKey(tag)
		c := concern{running.ByID[k.Rule], k, asChild}
		if ok && c.op != nil && c.isFrom(event.Key) && c.op.Begun.Load() {
			found = append(found, c)
		}
	}
	for _, op := range running.ByKey[event.Key] {
		if event.Key == op.ParentKey {
			found = append(found, concern{op, keyAt(op.ID, event.Newest()), asParent})
		}
		if op.NamespaceKey != nil && event.Key == *op.NamespaceKey && op.Begun.Load() {
			found = append(found, e.parentsIn(op, event)...)
		}
	}
	for k := range e.readers.Of(event) {
		if op := running.ByID[k.Rule]; op != nil {
			found = append(found, concern{op, k, asLookup})
		}
	}
	return found
}

// parentsIn returns the parents in a Namespace that is new or gone or has other labels.
func (e *Engine) parentsIn(op *operator.Operator, event monitor.Event) []concern {
	if event.Old != nil && event.New != nil && maps.Equal(event.Old.Head().GetLabels(), event.New.Head().GetLabels()) {
		return nil
	}
	inside := e.monitors.UnreadByIndex(op.ParentKey, cache.NamespaceIndex, event.Newest().Name())
	found := make([]concern, 0, len(inside))
	for _, parent := range inside {
		found = append(found, concern{op, keyAt(op.ID, parent), asNamespace})
	}
	return found
}

// enqueue enqueues a key that an event concerns, unless the event shows nothing new, and records the event as the
// cause. While a reconcile of the key is writing the object, the event waits for the end of the write. Before the
// operator has begun, nothing is enqueued: an informer has an object before it calls handle, so the start finds the
// object and enqueues the key. That of a deleted object it finds by the cause.
func (e *Engine) enqueue(c concern, event monitor.Event) {
	obj := event.Newest()
	changed := feedback.Change{Object: identity.At(obj), Version: feedback.Version{UID: obj.UID(), Resource: obj.ResourceVersion()}}
	if c.mayBeKnown(event) {
		if e.feedback.AwaitWrite(c.key, changed.Object, func() { e.enqueueAfterWrite(c, event) }) || e.takeKnown(c, event) {
			return
		}
	}
	if e.isStatusWriteDuringBackoff(c, event) {
		return
	}
	begun := c.op.Begun.Load()
	if c.needsCause(event) && (begun || event.New == nil) {
		e.feedback.Changed(c.key, changed)
	}
	switch {
	case !begun:
	case c.as == asParent && event.Answered: // parents that were just reconciled do not go ahead of those still waiting
		e.queue.AddPatient(c.key)
	default:
		e.queue.Add(c.key)
	}
}

// enqueueAfterWrite is enqueue for an event that came while a reconcile of the key was writing the object, once the
// write has ended: the event of a write often comes before the API server's answer, which tells whether the write made
// this state.
func (e *Engine) enqueueAfterWrite(c concern, event monitor.Event) {
	running := e.running.Load()
	if c.op = running.ByID[c.key.Rule]; c.op != nil && c.isFrom(event.Key) {
		e.enqueue(c, event)
	}
	e.forgetStopped(running)
}

// isFrom reports whether events of a parent or a child come from this informer: the operator may have been replaced.
func (c concern) isFrom(informer monitor.Key) bool {
	switch c.as {
	case asParent:
		return informer == c.op.ParentKey
	case asChild:
		return informer == c.op.ChildKey(informer.GVR)
	case asNamespace, asLookup:
	}
	return false
}

// mayBeKnown reports whether takeKnown may be asked. Once an expression has read how a child was before a reconcile,
// each state of a child counts. If a child belonged to another parent before, both parents need the event.
func (c concern) mayBeKnown(event monitor.Event) bool {
	switch c.as {
	case asParent:
		return event.Old != nil && event.New != nil && c.op.IgnoresOwnStatus()
	case asChild:
		return event.New != nil && !c.op.ReadsObserved.Load() && (event.Old == nil || event.Old.Tag() == event.New.Tag())
	case asNamespace, asLookup:
	}
	return false
}

// takeKnown reports whether an event needs no reconcile. That of a parent is the last reconcile's write of the status,
// and nothing else has changed since the rule was evaluated; such an event comes once. That of a child shows a state
// that a reconcile has made or found in sync, and has continued from; or only content changed that nothing depends on
// and that Kanon does not own.
func (e *Engine) takeKnown(c concern, event monitor.Event) bool {
	if c.as == asParent {
		return e.parents.TakeReported(c.key, parents.StatusWrite{
			UID: event.New.UID(), Before: event.Old.ResourceVersion(), After: event.New.ResourceVersion(),
		})
	}
	if e.writer.Knows(event.New.UID(), event.New.ResourceVersion()) {
		return true
	}
	return event.Old != nil && len(c.op.Unread) > 0 && fieldset.SameButContent(event.Old.Head(), event.New.Head()) &&
		c.op.Unread[mark.NodeOf(event.New.Head())]
}

// needsCause reports whether the event is recorded as the cause of a reconcile. Own writes of children cause nothing,
// because their events are known, unless an expression has read how a child was before a reconcile. So of other
// children only the deletion is recorded.
func (c concern) needsCause(event monitor.Event) bool {
	return c.as != asChild || event.New == nil || c.op.ReadsObserved.Load()
}

// isStatusWriteDuringBackoff reports whether a parent changed only by what rules wrote to its status, while it pauses
// after a failure. The pause then continues; workOn enqueues the parent once more when it is over.
func (e *Engine) isStatusWriteDuringBackoff(c concern, event monitor.Event) bool {
	if event.Old == nil || event.New == nil || event.Old.UID() != event.New.UID() || !c.isParent(event) || e.queue.NumRequeues(c.key) == 0 {
		return false
	}
	before, after, ok := event.Whole()
	return ok && feedback.IsStatusWrite(before, after, plan.IsStatusManager)
}

// isParent reports whether the object is the parent itself, through whichever informer it came.
func (c concern) isParent(event monitor.Event) bool {
	return event.Key.GVR == c.op.Parent.GVR && keyAt(c.op.ID, event.Newest()) == c.key
}
