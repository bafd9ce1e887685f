package engine

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"kanon.dev/kanon/engine/apply/fieldset"
	"kanon.dev/kanon/engine/apply/mark"
	"kanon.dev/kanon/engine/ending"
	"kanon.dev/kanon/engine/monitor"
	"kanon.dev/kanon/engine/operator"
	"kanon.dev/kanon/engine/parents"
	"kanon.dev/kanon/engine/plan"
	"kanon.dev/kanon/engine/queue"
	"kanon.dev/kanon/wire"
)

// handle turns one change of an object into the keys that it concerns. Each informer calls it for one change at a time.
// It sends no request.
func (e *Engine) handle(event monitor.Event) {
	running := e.running.Load()
	e.remember(running, event)
	for _, c := range e.concerned(running, event) {
		e.enqueue(c, event)
	}
	e.forgetStopped(running)
}

// remember records what an event says of its object, whichever keys it concerns, and forgets a child or a target of
// patches that was deleted.
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
// whether it is being deleted with foreground or orphaning propagation. That it has no such fields, no event proves: a
// reconcile may have written them since. The next reconcile of such a parent finds out.
func (e *Engine) rememberParent(op *operator.Operator, event monitor.Event) {
	k := keyAt(op.ID, event.Newest())
	if op.IsNarrow() && event.New == nil && fieldset.IsManaged(event.Old.Head(), op.ID) {
		e.parents.SetUnselected(k, true)
	}
	live := event.New.Head()
	switch {
	case live == nil:
		e.parents.Update(k, func(s *parents.State) { s.Deletion = parents.Deletion{} })
	case live.GetDeletionTimestamp() != nil && ending.Propagation(live) != metav1.DeletePropagationBackground:
		e.parents.Update(k, func(s *parents.State) {
			s.Deletion = parents.Deletion{UID: event.New.UID(), Propagation: ending.Propagation(live)}
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
