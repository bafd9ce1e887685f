package engine

import (
	"maps"

	"k8s.io/client-go/tools/cache"

	"kanon.dev/kanon/engine/monitor"
	"kanon.dev/kanon/engine/operator"
	"kanon.dev/kanon/engine/queue"
)

// concern is a key that an event concerns.
type concern struct {
	op  *operator.Operator
	key queue.Key
	as  role
}

// role is what the object of an event is to the parent of a key.
type role int

const (
	// asParent is the parent itself, in the informer of the rule's parents.
	asParent role = iota
	// asNamespace is the parent's namespace.
	asNamespace
	asChild
	// asLookup is an object that was read for the parent, or that was looked for.
	asLookup
)

// concerned returns the keys that an event concerns. Operators that have not begun need no child and no Namespace: they
// reconcile all their parents when they begin.
func (e *Engine) concerned(running *operator.Set, event monitor.Event) []concern {
	var found []concern
	for _, tag := range event.Tags() { // whoever changes a child can change its mark too, so both states count
		k, ok := queue.ParseKey(tag)
		if op := running.ByID[k.Rule]; ok && op != nil && op.ChildKey(event.Key.GVR) == event.Key && op.Begun.Load() {
			found = append(found, concern{op, k, asChild})
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

// parentsIn returns the parents in a Namespace that is new or gone or has other labels. Those in one that was deleted
// are being deleted too.
func (e *Engine) parentsIn(op *operator.Operator, event monitor.Event) []concern {
	if event.Old != nil && event.New != nil && maps.Equal(event.Old.Head().GetLabels(), event.New.Head().GetLabels()) {
		return nil
	}
	parents := e.monitors.UnreadByIndex(op.ParentKey, cache.NamespaceIndex, event.Newest().Name())
	found := make([]concern, 0, len(parents))
	for _, parent := range parents {
		found = append(found, concern{op, keyAt(op.ID, parent), asNamespace})
	}
	return found
}
