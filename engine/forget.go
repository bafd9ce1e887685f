package engine

import (
	"maps"
	"slices"

	"kanon.dev/kanon/engine/queue"
)

// What the engine remembers of keys stands in several stores. It is forgotten here, of a
// key and of a rule, in all of them at once: a store that is missing here grows for ever.

// keyStore remembers something by key.
type keyStore interface {
	Forget(k queue.Key)
	ForgetRule(id string)
	// AddKeys adds to found the keys of a rule of which something is remembered.
	AddKeys(rule string, found queue.Keys)
}

func (e *Engine) stores() []keyStore {
	return []keyStore{e.parents, e.memories}
}

// forget drops all that is known of a parent that is gone, or that the rule is not for any
// more, as a reconcile by this operator found.
func (e *Engine) forget(op *operator, k queue.Key) {
	e.dropContributions(op, k)
	e.forgetKey(k)
}

// forgetKey drops what is known of a key besides what its parent contributes by patches.
func (e *Engine) forgetKey(k queue.Key) {
	for _, store := range e.stores() {
		store.Forget(k)
	}
	e.readers.Keep(k, nil)
	e.borrowed.Keep(k, nil)
}

// leaveTarget drops what is known of a target to which nobody contributes any more. What
// it had to do with what was written last is forgotten with that.
func (e *Engine) leaveTarget(k queue.Key) {
	e.forgetConflicts(k)
	e.readers.Keep(k, nil)
	e.borrowed.Keep(k, nil)
}

// forgetRule drops all that is known of the parents and targets of a rule that stopped: no
// event will tell of their end.
func (e *Engine) forgetRule(id string) {
	for _, store := range e.stores() {
		store.ForgetRule(id)
	}
	e.readers.ForgetRule(id)
	e.borrowed.ForgetRule(id)
	e.guards.forgetRule(id)
	e.contributions.ForgetRule(id)
	e.writer.ForgetPatchesOf(id)
}

// forgetStopped drops what an event may have had the engine remember of rules that ran
// when it came and do not any more. It sends nothing and stops nothing.
func (e *Engine) forgetStopped(ran *operators) {
	now := e.running.load()
	if now == ran {
		return
	}
	for id := range ran.byID {
		if now.byID[id] != nil {
			continue
		}
		for _, store := range e.stores() {
			store.ForgetRule(id)
		}
	}
}

// remembered lists the keys of a rule of which something is known.
func (e *Engine) remembered(rule string) []queue.Key {
	found := make(queue.Keys)
	for _, store := range e.stores() {
		store.AddKeys(rule, found)
	}
	e.readers.AddKeys(rule, found)
	e.borrowed.AddKeys(rule, found)
	e.contributions.AddKeys(rule, found)
	return slices.Collect(maps.Keys(found))
}

// stop ends what a rule has running, and drops what is known of its parents and
// children.
func (e *Engine) stop(op *operator) {
	for kind := range op.childKinds() {
		for _, child := range e.monitors.Unread(op.childKey(kind.GVR)) {
			if ruleOfTag(child) == op.id {
				e.writer.Forget(child.UID())
			}
		}
	}
	e.monitors.Watch(op.id)
	e.forgetRule(op.id)
}
