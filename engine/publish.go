package engine

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/go-logr/logr"

	"kanon.dev/kanon/engine/apply/fieldset"
	"kanon.dev/kanon/engine/monitor"
	"kanon.dev/kanon/engine/queue"
)

// publish makes the catalog's runnable programs the operators that run, and
// starts and stops informers accordingly. known has the last operator of each
// rule, also of rules that stopped.
func (e *Engine) publish(ctx context.Context, c *catalog, known map[string]*operator) {
	log := logr.FromContextOrDiscard(ctx)
	if loaded, _ := e.records.IsLoaded(); !loaded || e.keys.Keyring() == nil {
		return // what it has to do with is not known; the bell rings when it is
	}
	e.recordPaused(c)
	before := e.running.load()
	var ops, started []*operator
	for _, run := range e.runs(c) {
		entry := run.entry
		op := before.byID[entry.id]
		if op == nil || op.program != run.program || op.outdated(e.options.Mapper) {
			var err error
			if op, err = newOperator(entry, run.program, e.options.Mapper, e.previous(known[entry.id], entry)); err != nil {
				log.V(1).Info("a kind went away while its rule was being started", "rule", entry.name.String(), "reason", err.Error())
				continue // the mapper's change is among the news already
			}
			op.removal = run.removal
			if op.removal == nil {
				e.requireRecord(op, c.originOf(entry))
			} else {
				op.lookAs(known[entry.id])
			}
			e.restartReplaced(known[entry.id], op)
			started = append(started, op)
			known[op.id] = op
		}
		ops = append(ops, op)
		e.confirm(op, c.confirmed(entry))
	}
	shareWhole(ops, started)
	after := newOperators(ops)
	after.rules, after.paused = c.ids(), c.paused()
	e.running.store(after)
	for _, op := range started {
		e.noteLeft(before.byID[op.id], op)
	}

	for id, op := range before.byID {
		if after.byID[id] == nil {
			log.Info("rule stopped", "rule", op.name.String())
			e.stop(op)
			if known[id] = op.remains(); op.removal != nil {
				delete(known, id) // nothing of it is left
			}
		}
	}
	e.begin(log, ops, started)
}

// begin has those of the published operators that are new do their work.
func (e *Engine) begin(log logr.Logger, ops, started []*operator) {
	if len(started) > 0 {
		e.addKeys(e.feedback.restartChains())
	}
	for _, op := range started {
		e.contributions.Expect(op.contributing)
		if op.removal != nil {
			log.Info("clearing away what a rule left", "rule", op.name.String(), "parent", op.parent.GVK.String(), "children", op.removal.children)
		} else {
			log.Info("rule started", "rule", op.name.String(), "parent", op.parent.GVK.String())
		}
		if op.removal == nil {
			e.records.Update(op.id, op.updateRecord) // again: the one before had a say until now
		}
		e.monitors.Watch(op.id, op.keys()...)
		e.enqueueAll(op)
	}
	for _, op := range ops {
		if op.removal != nil && !slices.Contains(started, op) {
			e.enqueueAll(op) // what it waited for may run no more
		}
	}
}

// restartReplaced starts the informers anew of those kinds whose definition was
// deleted and made again since the operator before: the old ones watch what is
// no more, and would find out only when their back-off lets them.
func (e *Engine) restartReplaced(before, after *operator) {
	if before == nil {
		return
	}
	if before.parent.Definition.UID != after.parent.Definition.UID {
		e.monitors.Restart(after.parent.GVR)
	}
	for kind := range after.childKinds() {
		if old, ok := before.childKind(kind.GVK); ok && old.Definition.UID != kind.Definition.UID {
			e.monitors.Restart(kind.GVR)
		}
	}
	for id, l := range after.lookups {
		if old, ok := before.lookups[id]; ok && old.kind.GVR == l.kind.GVR && old.kind.Definition.UID != l.kind.Definition.UID {
			e.monitors.Restart(l.kind.GVR)
		}
	}
	for id, plan := range after.patches {
		if old, ok := before.patches[id]; ok && old.kind.GVR == plan.kind.GVR && old.kind.Definition.UID != plan.kind.Definition.UID {
			e.monitors.Restart(plan.kind.GVR)
		}
	}
}

// noteLeft notes the parents that the operator will not see and the one before sees, and
// said something in.
func (e *Engine) noteLeft(before, after *operator) {
	if before == nil || before.parentKey == after.parentKey || before.parent.GVR.GroupResource() != after.parent.GVR.GroupResource() {
		return
	}
	for _, parent := range e.monitors.Heads(before.parentKey) {
		if !after.inView(parent) && fieldset.IsManaged(parent, after.id) {
			e.parents.SetLeft(keyOf(after.id, parent), true)
		}
	}
}

// enqueueAll wakes every parent that the operator may have work for: those in
// view, and those whose children are, so that a parent that left the view
// while Kanon was away is found; and those of which something is known, so that it is
// forgotten of a parent that another revision of the rule does not select. A parent to which something happens
// meanwhile goes before them. It does nothing while an informer is still filling: its Synced call comes here again.
func (e *Engine) enqueueAll(op *operator) {
	if !e.isCurrent(op) || !e.ready(op) {
		return
	}
	op.begun.Store(true)
	e.beginPatches(op)
	keys := e.keysOf(op)
	if op.removal == nil {
		e.beginGuard(op, keys)
		if e.isEvaluated(op) {
			e.wakeRemovals(op) // nobody else tells them where the revision is an old one
		}
	} else {
		left := op.removal.begin(keys)
		if len(left) == 0 {
			e.finish(op)
		}
		maps.Copy(keys, left)
	}
	for k := range keys {
		e.queue.AddPatient(k)
	}
	if e.mustSeek(op) {
		e.queue.AddPatient(seekKey(op))
	}
}

// keysOf lists the parents that the operator may have work for.
func (e *Engine) keysOf(op *operator) queue.Keys {
	found := make(queue.Keys)
	for _, parent := range e.monitors.Names(op.parentKey) {
		found[queue.Key{Rule: op.id, Parent: parent}] = true
	}
	for kind := range op.childKinds() {
		for _, value := range e.monitors.IndexValues(op.childKey(kind.GVR), indexParent) {
			if k, ok := queue.ParseKey(value); ok && k.Rule == op.id {
				found[k] = true
			}
		}
	}
	for _, k := range e.remembered(op.id) {
		if k.Patch == "" {
			found[k] = true
		}
	}
	return found
}

// ready tells whether the rule may begin: whether its record says what it must, and
// every informer that the operator needs has filled.
func (e *Engine) ready(op *operator) bool {
	return e.hasRecord(op) && e.isTurnOf(op) && !slices.ContainsFunc(op.keys(), func(key monitor.Key) bool { return !e.monitors.HasSynced(key) })
}

// starting has the ids of the rules of which a record has yet to be written or an informer
// to fill, and why that fails where it does. A rule whose informers are filling without a
// failure counts as in force: a restart in a large cluster changes no verdict.
func (e *Engine) starting(c *catalog) (filling map[string]bool, failing map[string]string) {
	filling, failing = make(map[string]bool), make(map[string]string)
	if loaded, err := e.records.IsLoaded(); !loaded {
		reason := ""
		switch failure := e.keys.Failure(); {
		case err != nil:
			reason = fmt.Sprintf("it cannot start: the records of rules cannot be read: %v", err)
		case failure != nil && e.keys.Keyring() == nil:
			reason = fmt.Sprintf("it cannot start: the keys that prove which objects Kanon made cannot be read: %v", failure)
		}
		for _, entry := range c.entries {
			filling[entry.id] = true
			if reason != "" {
				failing[entry.id] = reason
			}
		}
		return filling, failing
	}
	for id, op := range e.running.load().byID {
		if !e.hasRecord(op) {
			filling[id] = true
			if err := e.records.Failure(id); err != nil {
				failing[id] = fmt.Sprintf("it cannot start: its record cannot be written: %v", err)
				continue
			}
		}
		for _, key := range op.keys() {
			if e.monitors.HasSynced(key) {
				continue
			}
			filling[id] = true
			if err := e.monitors.Failure(key); err != nil {
				failing[id] = fmt.Sprintf("it cannot start: %v", err)
				break
			}
		}
	}
	return filling, failing
}
