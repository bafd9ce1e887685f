package engine

import (
	"slices"

	"github.com/go-logr/logr"

	"kanon.dev/kanon/engine/apply/fieldset"
	"kanon.dev/kanon/engine/operator"
	"kanon.dev/kanon/engine/queue"
)

// begin starts the informers of the new operators, and enqueues their parents.
func (e *Engine) begin(log logr.Logger, before *operator.Set, ops, started []*operator.Operator) {
	changed := make(map[string]bool, len(started))
	for _, op := range started {
		changed[op.ID] = true
	}
	for _, k := range e.feedback.Restart(changed) {
		e.queue.Add(k)
	}
	for _, op := range started {
		e.patches.Expect(op)
		if op.Removal != nil {
			e.awaitHeirs(op)
			e.parents.SetDenied(ruleKey(op), "") // what the rule was not allowed to do is no reason for its removal to wait
			log.Info("cleaning up after a rule", "rule", op.Name.String(), "parent", op.Parent.GVK.String(), "children", op.Removal.Children)
		} else {
			logStart(log, before.ByID[op.ID], op)
			e.records.Update(op.ID, op.UpdateRecord) // again: until now, the previous operator could change the record
		}
		e.monitors.Watch(op.ID, op.Informers()...)
		e.enqueueAll(op)
	}
	for _, op := range ops {
		if op.Removal != nil && !slices.Contains(started, op) {
			e.enqueueAll(op) // the rule that it waited for may have stopped
		}
	}
}

// logStart logs that a rule started or was changed, or why it was started again.
func logStart(log logr.Logger, before, op *operator.Operator) {
	log = log.WithValues("rule", op.Name.String(), "parent", op.Parent.GVK.String())
	switch {
	case before == nil || before.Removal != nil:
		log.Info("rule started", "revision", op.Program.Hash)
	case before.Program.Hash != op.Program.Hash:
		log.Info("rule changed", "revision", op.Program.Hash, "before", before.Program.Hash)
	default:
		log.Info("rule started again, because kinds changed", "revision", op.Program.Hash)
	}
}

// restartReplaced restarts the informers of kinds whose definition was recreated since the previous operator. They
// watch objects that no longer exist, and would notice only after their backoff.
func (e *Engine) restartReplaced(before, after *operator.Operator) {
	if before == nil {
		return
	}
	old := before.Definitions()
	for gvr, uid := range after.Definitions() {
		if was, ok := old[gvr]; ok && was != uid {
			e.monitors.Restart(gvr)
		}
	}
}

// noteUnselected records the parents that the previous operator selected and has fields in, and that the new one does not
// select.
func (e *Engine) noteUnselected(before, after *operator.Operator) {
	if before.ParentKey == after.ParentKey || before.Parent.GVR.GroupResource() != after.Parent.GVR.GroupResource() {
		return
	}
	for _, parent := range e.monitors.Heads(before.ParentKey) {
		if !after.InView(parent) && fieldset.IsManaged(parent, after.ID) {
			e.parents.SetUnselected(keyOf(after.ID, parent), true)
		}
	}
}

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
	e.guards.end(op)
	e.patches.ForgetRule(op.ID)
}
