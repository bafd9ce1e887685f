package engine

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"kanon.dev/kanon/engine/apply/fieldset"
	"kanon.dev/kanon/engine/apply/mark"
	"kanon.dev/kanon/engine/ending"
	"kanon.dev/kanon/engine/feedback"
	"kanon.dev/kanon/engine/identity"
	"kanon.dev/kanon/engine/monitor"
	"kanon.dev/kanon/engine/operator"
	"kanon.dev/kanon/engine/parents"
	"kanon.dev/kanon/engine/plan"
	"kanon.dev/kanon/engine/queue"
	"kanon.dev/kanon/wire"
)

// handle turns one change of an object into the keys that it concerns. Each informer calls it for one change at a time.
// It only reads memory.
func (e *Engine) handle(event monitor.Event) {
	running := e.running.Load()
	e.remember(running, event)
	for _, c := range e.concerned(running, event) {
		e.enqueue(c, event)
	}
	e.forgetStopped(running)
}

// remember records what an event says of its object, whichever keys it concerns.
func (e *Engine) remember(running *operator.Set, event monitor.Event) {
	if event.Old == nil || event.New == nil {
		e.objectCounts.changed()
	}
	for _, op := range running.ByKey[event.Key] {
		if event.Key == op.ParentKey {
			e.rememberParent(op, event)
		}
	}
	switch {
	case event.New != nil || event.Old == nil:
	case event.Key.Selector == mark.LabelRule:
		e.writer.Forget(event.Old.UID())
	case event.Key.Selector == "": // deleted, rather than no longer matching a selector
		e.patchWriter.ForgetTarget(event.Old.UID())
	}
}

// rememberParent records whether a parent no longer matches the rule's selector but still has fields of the rule, and
// whether it is being deleted with foreground or orphaning propagation.
func (e *Engine) rememberParent(op *operator.Operator, event monitor.Event) {
	live := event.New.Head()
	deleting := live != nil && live.GetDeletionTimestamp() != nil
	if live != nil && !deleting && !op.IsNarrow() {
		return
	}
	unselected := live == nil && fieldset.IsManaged(event.Old.Head(), op.ID)
	e.parents.Update(keyAt(op.ID, event.Newest()), func(s *parents.State) {
		if op.IsNarrow() {
			s.Unselected = unselected
		}
		if live == nil {
			s.Deletion = parents.Deletion{}
			return
		}
		if propagation := ending.Propagation(live); deleting && propagation != metav1.DeletePropagationBackground {
			s.Deletion = parents.Deletion{UID: event.New.UID(), Propagation: propagation}
		}
	})
}

// enqueue enqueues a key that an event concerns, unless the event shows nothing new, and records the event as the
// cause. Before the operator has begun, nothing is enqueued: an informer has an object before it calls handle, so the
// start finds the object and enqueues the key. That of a deleted object it finds by the cause.
func (e *Engine) enqueue(c concern, event monitor.Event) {
	obj := event.Newest()
	changed := feedback.Change{Object: identity.At(obj), Version: feedback.Version{UID: obj.UID(), Resource: obj.ResourceVersion()}}
	switch {
	case e.isStatusWriteDuringBackoff(c, event):
		return
	case !c.mayBeOwnWrite(event):
	case e.feedback.AwaitWrite(c.key, changed.Object, func() { e.enqueueAfterWrite(c, event) }), e.isKnown(c, event):
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
	if op := running.ByID[c.key.Rule]; op != nil && (event.Key == op.ParentKey || event.Key == op.ChildKey(event.Key.GVR)) {
		e.enqueue(concern{op, c.key, c.as}, event)
	}
	e.forgetStopped(running)
}

// mayBeOwnWrite reports whether the event may show what a reconcile of the key has written, or one that changes nothing
// for it. It is false of rules whose expressions read the written object: the state at the start of a reconcile matters
// then, so each state counts. It is false, too, of a child that belonged to another parent.
func (c concern) mayBeOwnWrite(event monitor.Event) bool {
	switch c.as {
	case asParent:
		return event.Old != nil && event.New != nil && c.op.IgnoresOwnStatus()
	case asChild:
		return event.New != nil && !c.op.ReadsObserved.Load() && (event.Old == nil || event.Old.Tag() == event.New.Tag())
	case asNamespace, asLookup:
	}
	return false
}

// isParent reports whether the object is the parent itself, through whichever informer it came.
func (c concern) isParent(event monitor.Event) bool {
	return event.Key.GVR == c.op.Parent.GVR && keyAt(c.op.ID, event.Newest()) == c.key
}

// needsCause reports whether the event has to be recorded as the cause of a reconcile. That of a child that the rule
// does not read need not be, unless it was deleted: mayBeOwnWrite is true of it, so own writes cause nothing.
func (c concern) needsCause(event monitor.Event) bool {
	return c.as != asChild || event.New == nil || c.op.ReadsObserved.Load()
}

// isKnown reports whether an event that may be that of an own write needs no reconcile. That of a parent is the last
// reconcile's write of the status, and nothing else has changed since the rule was evaluated. That of a child shows a
// state that a reconcile has made or found in sync, and has continued from; or only content changed that nothing
// depends on and that Kanon does not own.
func (e *Engine) isKnown(c concern, event monitor.Event) bool {
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

// isStatusWriteDuringBackoff reports whether a parent changed only by what rules wrote to its status, while it pauses
// after a failure. The pause then continues; workOn enqueues the parent once more when it is over.
func (e *Engine) isStatusWriteDuringBackoff(c concern, event monitor.Event) bool {
	if event.Old == nil || event.New == nil || event.Old.UID() != event.New.UID() || !c.isParent(event) || e.queue.NumRequeues(c.key) == 0 {
		return false
	}
	before, after, ok := event.Whole()
	return ok && feedback.IsStatusWrite(before, after, plan.IsStatusManager)
}

// forgetStopped drops what the handling of an event may have remembered about rules that have stopped since it began.
// It sends nothing and stops nothing.
func (e *Engine) forgetStopped(ran *operator.Set) {
	now := e.running.Load()
	if now == ran {
		return
	}
	for id := range ran.ByID {
		if now.ByID[id] == nil {
			e.parents.ForgetRule(id)
		}
	}
}

// synced enqueues what waited for an informer to sync.
func (e *Engine) synced(key monitor.Key) {
	for _, op := range e.running.Load().ByKey[key] {
		e.enqueueAll(op)
	}
	for k := range e.readers.Borrowers(key) {
		e.queue.Add(k)
	}
	e.inbox.Notify() // a starting rule may be ready now
}

// failed enqueues the parents that read through an informer that cannot sync, so that they report it.
func (e *Engine) failed(informer monitor.Key) {
	for k := range e.readers.Borrowers(informer) {
		e.queue.Add(k)
	}
}

func keyOf(rule string, parent *unstructured.Unstructured) queue.Key {
	return queue.Key{Rule: rule, Parent: types.NamespacedName{Namespace: parent.GetNamespace(), Name: parent.GetName()}}
}

func keyAt(rule string, parent *wire.Object) queue.Key {
	return queue.Key{Rule: rule, Parent: types.NamespacedName{Namespace: parent.Namespace(), Name: parent.Name()}}
}

// tagOf returns the rule and parent of a child, as the text of their key. An object that has the label of children but
// whose mark proves nothing is not in view: labels are copied, and anybody may set them.
func (e *Engine) tagOf(key monitor.Key, obj *wire.Object) (tag string, inView bool) {
	if key.Selector != mark.LabelRule {
		return "", true // these are no children
	}
	owner, ok := e.marks.OwnerOf(obj.Head())
	if !ok {
		return "", false
	}
	return plan.Tag(owner), true
}
