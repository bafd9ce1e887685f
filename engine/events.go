package engine

import (
	"maps"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"kanon.dev/kanon/engine/apply/fieldset"
	"kanon.dev/kanon/engine/apply/mark"
	"kanon.dev/kanon/engine/conditions"
	"kanon.dev/kanon/engine/feedback"
	"kanon.dev/kanon/engine/identity"
	"kanon.dev/kanon/engine/operator"
	"kanon.dev/kanon/engine/queue"
	"kanon.dev/kanon/engine/watch"
)

// affected is a key that an event may have to enqueue, and what the object of the event is to it.
type affected struct {
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
	// asLookup is an object that a reconcile of the parent has read, or looked for and not found.
	asLookup
)

// handle enqueues the keys that a change of an object affects. Each informer calls it for one change at a time. It sends
// no request.
func (e *Engine) handle(event watch.Event) {
	running := e.running.Load()
	e.remember(running, event)
	for _, a := range e.affectedBy(running, event) {
		e.enqueue(a, event)
	}
	e.forgetStopped(running)
}

// affectedBy returns the keys that an event may have to enqueue. An operator that has not begun is left out if the
// object is a child or a Namespace: it enqueues all its parents when it begins. It is not left out if the object is a
// parent or was read, because enqueue records the deletion of such an object.
func (e *Engine) affectedBy(running *operator.Set, event watch.Event) []affected {
	var found []affected
	for _, tag := range event.Tags() { // a change of a child's mark affects the old parent and the new one
		k, ok := queue.ParseKey(tag)
		a := affected{running.ByID[k.Rule], k, asChild}
		if ok && a.op != nil && a.isFrom(event.Key) && a.op.Begun.Load() {
			found = append(found, a)
		}
	}
	for _, op := range running.ByKey[event.Key] {
		if event.Key == op.ParentKey {
			found = append(found, affected{op, keyAt(op.ID, event.Newest()), asParent})
		}
		if op.NamespaceKey != nil && event.Key == *op.NamespaceKey && op.Begun.Load() {
			found = append(found, e.parentsIn(op, event)...)
		}
	}
	for k := range e.readers.Of(event) {
		if op := running.ByID[k.Rule]; op != nil {
			found = append(found, affected{op, k, asLookup})
		}
	}
	return found
}

// parentsIn returns the parents in a Namespace that was created or deleted or whose labels changed.
func (e *Engine) parentsIn(op *operator.Operator, event watch.Event) []affected {
	if event.Old != nil && event.New != nil && maps.Equal(event.Old.Head().GetLabels(), event.New.Head().GetLabels()) {
		return nil
	}
	inside := e.monitors.UnreadByIndex(op.ParentKey, cache.NamespaceIndex, event.Newest().Name())
	found := make([]affected, 0, len(inside))
	for _, parent := range inside {
		found = append(found, affected{op, keyAt(op.ID, parent), asNamespace})
	}
	return found
}

// enqueue enqueues a key, unless the event shows nothing new to it, and records the event as the cause of the reconcile.
// While a reconcile of the key is writing the object, the event waits for the end of the write. Before the operator has
// begun, nothing is enqueued: the start of the operator finds the object, because an informer has it before it calls
// handle. The start does not find a deleted object, so its deletion is recorded as a cause even then.
func (e *Engine) enqueue(a affected, event watch.Event) {
	obj := event.Newest()
	changed := feedback.Change{Object: identity.At(obj), Version: feedback.Version{UID: obj.UID(), Resource: obj.ResourceVersion()}}
	if a.mayBeKnown(event) {
		if e.feedback.AwaitWrite(a.key, changed.Object, func() { e.enqueueAfterWrite(a, event) }) || e.takeKnown(a, event) {
			return
		}
	}
	if e.isStatusWriteDuringBackoff(a, event) {
		return
	}
	begun := a.op.Begun.Load()
	if a.needsCause(event) && (begun || event.New == nil) {
		e.feedback.Changed(a.key, changed)
	}
	if begun {
		e.queue.Add(a.key)
	}
}

// enqueueAfterWrite is enqueue for an event that came while a reconcile of the key was writing the object. It is called
// when the write has ended: the event often comes before the API server's answer, and only the answer tells whether the
// write made this state.
func (e *Engine) enqueueAfterWrite(a affected, event watch.Event) {
	running := e.running.Load()
	if a.op = running.ByID[a.key.Rule]; a.op != nil && a.isFrom(event.Key) {
		e.enqueue(a, event)
	}
	e.forgetStopped(running)
}

// isFrom reports whether the operator, which may have been replaced, gets events of this parent or child from this
// informer.
func (a affected) isFrom(informer watch.Key) bool {
	switch a.as {
	case asParent:
		return informer == a.op.ParentKey
	case asChild:
		return informer == a.op.ChildKey(informer.GVR)
	case asNamespace, asLookup:
	}
	return false
}

// mayBeKnown reports whether takeKnown decides about the event. Once an expression reads how a child was before a
// reconcile, each state of a child counts. If a child belonged to another parent before, both parents need the event.
func (a affected) mayBeKnown(event watch.Event) bool {
	switch a.as {
	case asParent:
		return event.Old != nil && event.New != nil && a.op.IgnoresOwnStatus()
	case asChild:
		return event.New != nil && !a.op.ReadsObserved.Load() && (event.Old == nil || event.Old.Tag() == event.New.Tag())
	case asNamespace, asLookup:
	}
	return false
}

// takeKnown reports whether an event needs no reconcile. The event of a parent needs none if the last reconcile's write
// of the status made it, and nothing else has changed since the rule was evaluated; such an event comes once. The event
// of a child needs none if a reconcile has made or found this state in sync, and has continued from it; or if only
// content changed that nothing depends on and that Kanon does not own.
func (e *Engine) takeKnown(a affected, event watch.Event) bool {
	if a.as == asParent {
		return e.parents.TakeReported(a.key, conditions.StatusWrite{
			UID: event.New.UID(), Before: event.Old.ResourceVersion(), After: event.New.ResourceVersion(),
		})
	}
	if e.writer.Knows(event.New.UID(), event.New.ResourceVersion()) {
		return true
	}
	return event.Old != nil && len(a.op.Unread) > 0 && fieldset.SameButContent(event.Old.Head(), event.New.Head()) &&
		a.op.Unread[mark.NodeOf(event.New.Head())]
}

// needsCause reports whether the event is recorded as the cause of a reconcile. Of children only the deletion is
// recorded, unless an expression reads how a child was before: the events of Kanon's own writes are known otherwise.
func (a affected) needsCause(event watch.Event) bool {
	return a.as != asChild || event.New == nil || a.op.ReadsObserved.Load()
}

// isStatusWriteDuringBackoff reports whether a parent changed only by what rules wrote to its status, while it pauses
// after a failure. The pause then continues; workOn enqueues the parent once more when it is over.
func (e *Engine) isStatusWriteDuringBackoff(a affected, event watch.Event) bool {
	isParent := event.Key.GVR == a.op.Parent.GVR && keyAt(a.op.ID, event.Newest()) == a.key // through any informer
	return isParent && event.Old != nil && event.New != nil && event.Old.UID() == event.New.UID() && e.queue.NumRequeues(a.key) > 0 &&
		feedback.IsStatusWrite(event.Old.Tree(), event.New.Tree(), operator.IsStatusManager)
}

// remember records what an event shows of its object, and forgets a child or a target of patches that was deleted.
func (e *Engine) remember(running *operator.Set, event watch.Event) {
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
// whether it is being deleted with foreground or orphaning propagation. No event proves that a parent has no such fields:
// a reconcile may have written them since. The next reconcile of such a parent finds out.
func (e *Engine) rememberParent(op *operator.Operator, event watch.Event) {
	k := keyAt(op.ID, event.Newest())
	if op.IsNarrow() && event.New == nil && fieldset.IsManaged(event.Old.Head(), op.ID) {
		e.parents.SetUnselected(k, true)
	}
	live := event.New.Head()
	switch {
	case live == nil:
		e.parents.Update(k, func(s *conditions.State) { s.Deletion = conditions.Deletion{} })
	case live.GetDeletionTimestamp() != nil && operator.Propagation(live) != metav1.DeletePropagationBackground:
		e.parents.Update(k, func(s *conditions.State) {
			s.Deletion = conditions.Deletion{UID: event.New.UID(), Propagation: operator.Propagation(live)}
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
func (e *Engine) synced(key watch.Key) {
	for _, op := range e.running.Load().ByKey[key] {
		e.enqueueAll(op)
	}
	for k := range e.readers.Borrowers(key) {
		e.queue.Add(k)
	}
	e.inbox.Notify() // a starting rule may be ready now
}

// failed enqueues the parents that read through an informer that cannot sync, so that they report it.
func (e *Engine) failed(informer watch.Key) {
	for k := range e.readers.Borrowers(informer) {
		e.queue.Add(k)
	}
}

func keyOf(rule string, parent *unstructured.Unstructured) queue.Key {
	return queue.Key{Rule: rule, Parent: types.NamespacedName{Namespace: parent.GetNamespace(), Name: parent.GetName()}}
}

func keyAt(rule string, parent *watch.Object) queue.Key {
	return queue.Key{Rule: rule, Parent: types.NamespacedName{Namespace: parent.Namespace(), Name: parent.Name()}}
}

// tagOf returns the rule and parent of a child, as the text of their key. An object with the label of children whose mark
// proves nothing is not in view: anybody may copy or set labels.
func (e *Engine) tagOf(key watch.Key, obj *watch.Object) (tag string, inView bool) {
	if key.Selector != mark.LabelRule {
		return "", true // these are no children
	}
	owner, ok := e.marks.OwnerOf(obj.Head())
	if !ok {
		return "", false
	}
	return operator.Tag(owner), true
}
