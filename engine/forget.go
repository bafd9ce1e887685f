package engine

import (
	"kanon.dev/kanon/engine/operator"
	"kanon.dev/kanon/engine/queue"
)

// forgetKey drops what is known of a key besides what its parent contributes by patches.
func (e *Engine) forgetKey(k queue.Key) {
	e.parents.Forget(k)
	e.readers.Keep(k, nil)
}

// forgetRule drops all that is known of the parents and targets of a rule that stopped: no event will tell of their end.
func (e *Engine) forgetRule(id string) {
	e.parents.ForgetRule(id)
	e.readers.ForgetRule(id)
	e.guards.forgetRule(id)
	e.patches.ForgetRule(id)
}

// remembered lists the keys of a rule of which something is known.
func (e *Engine) remembered(rule string) queue.Keys {
	found := make(queue.Keys)
	e.parents.AddKeys(rule, found)
	e.readers.AddKeys(rule, found)
	e.patches.AddKeys(rule, found)
	return found
}

// stop ends what a rule has running, and drops what is known of its parents and children.
func (e *Engine) stop(op *operator.Operator) {
	for child := range op.EachChild(e.monitors) {
		e.writer.Forget(child.UID())
	}
	e.monitors.Watch(op.ID)
	e.forgetRule(op.ID)
}
