package engine

import (
	"iter"
	"maps"
	"slices"

	"kanon.dev/kanon/engine/operator"
	"kanon.dev/kanon/engine/queue"
	"kanon.dev/kanon/engine/watch"
)

// enqueueAll enqueues every parent that the operator may have work for. It does nothing while an informer is syncing:
// synced calls it again.
func (e *Engine) enqueueAll(op *operator.Operator) {
	if !e.running.IsCurrent(op) || !e.ready(op) {
		return
	}
	op.Begun.Store(true)
	e.patches.Begin(op, e.remembered(op.ID))
	keys := e.keysOf(op)
	if op.Removal == nil {
		e.guards.begin(op, keys)
		if e.guards.isEvaluated(op) {
			e.enqueueRemovals(op) // otherwise the guard's outcome does, once all parents have reported
		}
		for _, removed := range e.running.Load().Removals { // a parent that they wait for may be gone since
			maps.Copy(keys, removed.Removal.HeirsOf(op.ID))
		}
	} else {
		left := op.Removal.Begin(keys)
		if len(left) == 0 {
			e.finishRemoval(op)
		}
		maps.Copy(keys, left)
	}
	for k := range keys {
		e.queue.AddPatient(k)
	}
	if e.hasRuleWork(op) {
		e.queue.AddPatient(ruleKey(op))
	}
}

// keysOf lists the parents that the operator may have work for: those that it selects; those that have children,
// because they may have stopped matching the selector while Kanon was not running; and those of which something is
// remembered, so that it is forgotten.
func (e *Engine) keysOf(op *operator.Operator) queue.Keys {
	found := make(queue.Keys)
	for _, parent := range e.monitors.Unread(op.ParentKey) {
		found[keyAt(op.ID, parent)] = true
	}
	for kind := range op.ChildKinds() {
		for _, value := range e.monitors.IndexValues(op.ChildKey(kind.GVR), operator.IndexParent) {
			if k, ok := queue.ParseKey(value); ok && k.Rule == op.ID {
				found[k] = true
			}
		}
	}
	for k := range e.remembered(op.ID) {
		if k.Patch == "" {
			found[k] = true
		}
	}
	return found
}

// ready reports whether the rule may begin: its record is written, its informers have synced, and a removal need not
// wait for another rule.
func (e *Engine) ready(op *operator.Operator) bool {
	return e.hasRecord(op) && e.guards.MayCleanUp(op) && !slices.ContainsFunc(op.Informers(), func(key watch.Key) bool { return !e.monitors.HasSynced(key) })
}

// heirs iterates over the running rules that may render children of a removed rule for the same parents.
func (e *Engine) heirs(op *operator.Operator) iter.Seq[*operator.Operator] {
	return func(yield func(*operator.Operator) bool) {
		for _, other := range e.running.Load().ByID {
			// The rule of another tenant sees none of these parents.
			foreign := other.Identity.Confined && other.Name.Namespace != op.Name.Namespace
			if !foreign && other.Removal == nil && other.Parent.GVK.GroupKind() == op.Parent.GVK.GroupKind() && !yield(other) {
				return
			}
		}
	}
}

// awaitHeirs makes a removal that deletes wait until the rules that run have taken over what they render. They could not
// before, as long as the removed rule existed.
func (e *Engine) awaitHeirs(op *operator.Operator) {
	if op.Removal.KeepsChildren() {
		return
	}
	keys := make(queue.Keys)
	for other := range e.heirs(op) {
		if other.Begun.Load() { // otherwise its start enqueues its parents, and its guard makes the removal wait
			maps.Copy(keys, e.keysOf(other))
		}
	}
	op.Removal.AwaitHeirs(keys)
	for k := range keys {
		e.queue.AddPatient(k)
	}
}

// noteHeir lets the removals go on that waited for a reconcile of a key. They are those that were known when it began: an
// earlier reconcile has seen the removed rule as one that exists, and has taken over nothing.
func (e *Engine) noteHeir(removals []*operator.Operator, k queue.Key) {
	for _, op := range removals {
		if op.Removal.Reconciled(k) {
			e.enqueueAll(op)
		}
	}
}

// enqueueRemovals enqueues the parents of removals that may have waited for a rule until it has reconciled all its
// parents or has stopped.
func (e *Engine) enqueueRemovals(op *operator.Operator) {
	for _, other := range e.running.Load().ByID {
		if other.Removal != nil && other.Parent.GVK.GroupKind() == op.Parent.GVK.GroupKind() {
			e.enqueueAll(other)
		}
	}
}
