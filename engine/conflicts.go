package engine

// What the engine tells package feedback, and makes of what that finds.

import (
	"context"
	"strings"
	"time"

	"kanon.dev/kanon/engine/apply"
	"kanon.dev/kanon/engine/apply/mark"
	"kanon.dev/kanon/engine/conditions"
	"kanon.dev/kanon/engine/feedback"
	"kanon.dev/kanon/engine/identity"
	"kanon.dev/kanon/engine/monitor"
	"kanon.dev/kanon/engine/plan"
	"kanon.dev/kanon/engine/queue"
)

// addPatches enqueues the targets for which the parent contributes something else now.
func (p *pass) addPatches(keys []queue.Key) {
	for _, k := range keys {
		p.feedback.HandOver(p.key, p.provenance, k)
	}
	p.engine.addKeys(keys)
}

// checkLoop adds the loop that the reconcile is part of to the problems, and requeues the parent for when the pause is over.
func (p *pass) checkLoop() {
	loop := p.provenance.Loop()
	if loop == nil {
		return
	}
	p.add(conditions.OfLoop(loop, p.engine.running.NameOf))
	p.requeueAfter(loop.Wait(p.started) + time.Millisecond)
}

// sync brings the target of a patch up to date, unless others keep taking back what is set there.
func (t *patching) sync(ctx context.Context, patch apply.Patch) error {
	now, content := t.now(), ""
	if patch.Content != nil {
		content = patch.Content.Content()
	}
	id, lost := identity.Of(patch.Object), feedback.FieldsOf(t.writer.LostPatch(patch))
	var suppressed bool
	t.parents.UpdateConflicts(t.key, func(c *feedback.Conflicts) { suppressed = c.Suppress(id, content, lost, now, t.retryMax) })
	if !suppressed {
		defer t.feedback.BeginWrite(t.key, id, mark.RefOf(patch.Object).String(), t.provenance, 0)()
		result, err := t.writer.SyncPatch(ctx, patch)
		t.noteWrite(result)
		if err != nil {
			return err
		}
		if result.Action != apply.ActionNone {
			t.parents.UpdateConflicts(t.key, func(c *feedback.Conflicts) { c.Wrote(id, content, lost, now) })
		}
	}
	var conflict feedback.Conflict
	t.parents.UpdateConflicts(t.key, func(c *feedback.Conflicts) { conflict = c.Of(id, content, now) })
	if len(conflict.Fields) == 0 {
		return nil
	}
	of := &conditions.FieldConflictError{Conflict: conflict, Object: mark.RefOf(patch.Object), NameOf: t.running.ManagerName, Patched: true}
	t.out.RequeueAfter(of.After())
	return of
}

// noteWrite takes in the answer of a write of the target, which has begun.
func (t *patching) noteWrite(result apply.Result) {
	live := result.Live
	if live == nil || result.Action == apply.ActionNone {
		return
	}
	t.effect = t.feedback.Wrote(t.key, t.provenance, live, feedback.VersionOf(live))
	t.monitors.Observe(t.plan.InformerFor(t.key.Parent.Namespace), live)
}

// isOwnStatusEvent tells whether a change of a parent is what rules wrote to its status, and nothing else.
func isOwnStatusEvent(event monitor.Event) bool {
	if event.Old == nil || event.New == nil || event.Old.UID() != event.New.UID() {
		return false
	}
	before, after, ok := event.Whole()
	return ok && feedback.IsStatusWrite(before, after, isStatusManager)
}

// isStatusManager tells whether a field manager is that of a rule's status.
func isStatusManager(manager string) bool { return strings.HasPrefix(manager, plan.StatusManagers) }
