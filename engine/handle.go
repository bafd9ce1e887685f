package engine

import (
	"maps"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"kanon.dev/kanon/engine/apply"
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
	if event.Old == nil || event.New == nil {
		e.objectCounts.changed()
	}
	for _, op := range running.ByKey[event.Key] {
		if event.Key == op.ParentKey {
			e.noteDeletion(op.ID, event)
			e.handleParent(op, event)
		}
		if op.NamespaceKey != nil && event.Key == *op.NamespaceKey {
			e.handleNamespace(op, event)
		}
	}
	if event.Key.Selector == mark.LabelRule {
		e.handleChild(running, event)
	}
	if event.New == nil && event.Key.Selector == "" { // deleted, rather than no longer matching a selector
		e.patchWriter.ForgetTarget(event.Old.UID())
	}
	e.handleLookup(running, event)
	e.forgetStopped(running)
}

// handleLookup enqueues the parents that read the object through this informer.
func (e *Engine) handleLookup(running *operator.Set, event monitor.Event) {
	for k := range e.readers.Of(event) {
		op := running.ByID[k.Rule]
		if op == nil {
			continue
		}
		itself := event.Key.GVR == op.Parent.GVR && keyAt(k.Rule, event.Newest()) == k
		if itself && e.isStatusWriteDuringBackoff(k, event) {
			continue
		}
		e.enqueue(op, k, event)
	}
}

func (e *Engine) handleParent(op *operator.Operator, event monitor.Event) {
	obj := event.Newest()
	if obj == nil {
		return
	}
	k := keyAt(op.ID, obj)
	switch {
	case !op.IsNarrow():
	case event.New != nil:
		e.parents.SetUnselected(k, false)
	case fieldset.IsManaged(event.Old.Head(), op.ID):
		e.parents.SetUnselected(k, true)
	}
	if !e.awaitsReport(op, k, event) {
		e.enqueueParent(op, k, event)
	}
}

// enqueueParent enqueues a parent that has changed.
func (e *Engine) enqueueParent(op *operator.Operator, k queue.Key, event monitor.Event) {
	if e.isReport(op, k, event) || e.isStatusWriteDuringBackoff(k, event) || !e.begun(op, k, event) {
		return
	}
	if event.Answered { // parents that were just reconciled do not go ahead of those still waiting
		e.queue.AddPatient(k)
		return
	}
	e.queue.Add(k)
}

// awaitsReport reports whether a reconcile of the parent is writing it. The event then enqueues the parent after the
// write, if at all, as in awaitsWrite.
func (e *Engine) awaitsReport(op *operator.Operator, k queue.Key, event monitor.Event) bool {
	return mayBeReport(op, event) && e.feedback.AwaitWrite(k, identity.At(event.New), func() {
		running := e.running.Load()
		if op := running.ByID[k.Rule]; op != nil && op.ParentKey == event.Key {
			e.enqueueParent(op, k, event)
		}
		e.forgetStopped(running)
	})
}

// isReport reports whether the event is that of the last reconcile's own write of the status, and nothing else has
// changed since the rule was evaluated: nothing that the rule depends on is new.
func (e *Engine) isReport(op *operator.Operator, k queue.Key, event monitor.Event) bool {
	return mayBeReport(op, event) && e.parents.TakeReported(k, parents.StatusWrite{
		UID: event.New.UID(), Before: event.Old.ResourceVersion(), After: event.New.ResourceVersion(),
	})
}

// mayBeReport reports whether an event may be one that isReport is about.
func mayBeReport(op *operator.Operator, event monitor.Event) bool {
	return event.Old != nil && event.New != nil && op.IgnoresOwnStatus()
}

// handleNamespace enqueues the parents in a Namespace that is new or whose labels changed. If the Namespace was
// deleted, its parents are being deleted too.
func (e *Engine) handleNamespace(op *operator.Operator, event monitor.Event) {
	namespace := event.Newest()
	if namespace == nil || !op.Begun.Load() { // as in begun
		return
	}
	if event.Old != nil && event.New != nil && maps.Equal(event.Old.Head().GetLabels(), event.New.Head().GetLabels()) {
		return
	}
	for _, parent := range e.monitors.UnreadByIndex(op.ParentKey, cache.NamespaceIndex, namespace.Name()) {
		e.enqueue(op, keyAt(op.ID, parent), event)
	}
}

// handleChild enqueues the parent of a child, by the mark before the change and by the mark after it: whoever changes a
// child can change its mark too.
func (e *Engine) handleChild(running *operator.Set, event monitor.Event) {
	if event.New != nil && (e.awaitsWrite(running, event) || e.isKnownChange(running, event)) {
		return
	}
	for _, obj := range []*wire.Object{event.Old, event.New} {
		k, ok := plan.KeyOfTag(obj)
		op := running.ByID[k.Rule]
		if !ok || op == nil || op.ChildKey(event.Key.GVR) != event.Key || !op.Begun.Load() { // as in begun
			continue
		}
		if op.ReadsObserved.Load() || event.New == nil {
			e.noteChange(k, event) // not needed for other rules: isKnownChange drops the events of their own writes
		}
		e.queue.Add(k)
	}
	if event.New == nil && event.Old != nil {
		e.writer.Forget(event.Old.UID())
	}
}

// awaitsWrite reports whether a reconcile of the child's parent is writing the child. The event is then handled after the
// write: it often comes before the API server's answer, which tells whether the write made this state.
func (e *Engine) awaitsWrite(running *operator.Set, event monitor.Event) bool {
	k, ok := plan.KeyOfTag(event.New)
	op := running.ByID[k.Rule]
	if !ok || op == nil || op.ReadsObserved.Load() || event.Old != nil && event.Old.Tag() != event.New.Tag() {
		return false
	}
	return e.feedback.AwaitWrite(k, identity.At(event.New), func() {
		running := e.running.Load()
		e.handleChild(running, event)
		e.forgetStopped(running)
	})
}

// isKnownChange reports whether a child's new state needs no reconcile. Either a reconcile has made exactly this state,
// or found it in sync, and has continued from there; or only content changed that nothing depends on and that Kanon
// does not own. If an expression reads observed, the state at the start of a reconcile matters too, so each state
// counts.
func (e *Engine) isKnownChange(running *operator.Set, event monitor.Event) bool {
	k, ok := plan.KeyOfTag(event.New)
	op := running.ByID[k.Rule]
	switch {
	case !ok || op == nil || op.ReadsObserved.Load():
		return false
	case e.writer.Knows(event.New.UID(), event.New.ResourceVersion()):
		return event.Old == nil || event.Old.Tag() == event.New.Tag() // otherwise it belonged to another parent
	case event.Old == nil:
		return false
	}
	if len(op.Unread) == 0 || !apply.SameButContent(event.Old.Head(), event.New.Head()) {
		return false
	}
	owner, ok := e.marks.OwnerOf(event.New.Head())
	return ok && op.Unread[owner.Node]
}

// enqueue enqueues a key because of an event.
func (e *Engine) enqueue(op *operator.Operator, k queue.Key, event monitor.Event) {
	if e.begun(op, k, event) {
		e.queue.Add(k)
	}
}

// begun records the cause of the change that enqueues a key, and reports whether the operator has begun. Before that,
// nothing is enqueued: an informer has an object before it calls handle, so the start finds the object and enqueues the
// key. That of a deleted object it finds by what was recorded.
func (e *Engine) begun(op *operator.Operator, k queue.Key, event monitor.Event) bool {
	has := op.Begun.Load()
	if has || event.New == nil {
		e.noteChange(k, event)
	}
	return has
}

// noteChange records the cause of the change that enqueues a key.
func (e *Engine) noteChange(k queue.Key, event monitor.Event) {
	if obj := event.Newest(); obj != nil {
		e.feedback.Changed(k, feedback.Change{
			Object: identity.At(obj), Version: feedback.Version{UID: obj.UID(), Resource: obj.ResourceVersion()},
		})
	}
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

// isStatusWriteDuringBackoff reports whether a parent changed only by what rules wrote to its status, while it pauses
// after a failure. The pause then continues; workOn enqueues the parent once more when it is over.
func (e *Engine) isStatusWriteDuringBackoff(k queue.Key, event monitor.Event) bool {
	if e.queue.NumRequeues(k) == 0 || event.Old == nil || event.New == nil || event.Old.UID() != event.New.UID() {
		return false
	}
	before, after, ok := event.Whole()
	return ok && feedback.IsStatusWrite(before, after, plan.IsStatusManager)
}

// noteDeletion records whether a parent is being deleted with foreground or orphaning propagation.
func (e *Engine) noteDeletion(rule string, event monitor.Event) {
	live := event.New.Head()
	switch {
	case live != nil && live.GetDeletionTimestamp() != nil:
		if propagation := ending.Propagation(live); propagation != metav1.DeletePropagationBackground {
			e.parents.Update(keyAt(rule, event.New), func(s *parents.State) {
				s.Deletion = parents.Deletion{UID: event.New.UID(), Propagation: propagation}
			})
		}
	case event.New == nil && event.Old != nil:
		e.parents.Update(keyAt(rule, event.Old), func(s *parents.State) { s.Deletion = parents.Deletion{} })
	}
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
