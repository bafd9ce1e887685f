package engine

import (
	"kanon.dev/kanon/engine/operator"
	"kanon.dev/kanon/engine/queue"
)

// remembered lists the keys of a rule of which anything is known.
func (e *Engine) remembered(rule string) queue.Keys {
	found := make(queue.Keys)
	e.parents.AddKeys(rule, found)
	e.readers.AddKeys(rule, found)
	e.patches.AddKeys(rule, found)
	return found
}

// stop stops the informers of a rule, and drops everything known of its parents, targets and children, because no event
// will report their deletion.
func (e *Engine) stop(op *operator.Operator) {
	for child := range op.EachChild(e.monitors) {
		e.writer.Forget(child.UID())
	}
	e.monitors.Watch(op.ID)
	e.parents.ForgetRule(op.ID)
	e.readers.ForgetRule(op.ID)
	e.guards.forgetRule(op.ID)
	e.patches.ForgetRule(op.ID)
}
