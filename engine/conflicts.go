package engine

// What the engine tells package feedback, and makes of what that finds.

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"kanon.dev/kanon/engine/apply"
	"kanon.dev/kanon/engine/apply/fieldset"
	"kanon.dev/kanon/engine/apply/mark"
	"kanon.dev/kanon/engine/conditions"
	"kanon.dev/kanon/engine/feedback"
	"kanon.dev/kanon/engine/identity"
	"kanon.dev/kanon/engine/monitor"
	"kanon.dev/kanon/engine/parents"
	"kanon.dev/kanon/engine/plan"
	"kanon.dev/kanon/engine/queue"
)

// addPatches enqueues the targets for which the parent contributes something else now.
func (p *pass) addPatches(keys []queue.Key) {
	for _, k := range keys {
		p.feedback.handOver(p.key, p.provenance, k)
	}
	p.engine.addKeys(keys)
}

// checkLoop adds the loop that the reconcile is part of to the problems, and requeues the parent for when the pause is over.
func (p *pass) checkLoop() {
	loop := p.provenance.Loop()
	if loop == nil {
		return
	}
	p.add(p.engine.problemOfLoop(loop))
	p.requeueAfter(loop.Wait(p.started) + time.Millisecond)
}

func (e *Engine) problemOfLoop(loop *feedback.Loop) conditions.Problem {
	text := make([]string, 0, len(loop.Steps)+1)
	for _, step := range loop.Steps {
		text = append(text, fmt.Sprintf("rule %s for %s writes %s", e.running.nameOf(step.Key.Rule), step.Key.Parent, step.Wrote))
	}
	if len(loop.Steps) > 0 {
		first := loop.Steps[0].Key
		text = append(text, fmt.Sprintf("rule %s for %s", e.running.nameOf(first.Rule), first.Parent))
	}
	why := fmt.Sprintf("each of the last %d changes was caused by the one before, and by nothing else", loop.Rounds)
	if loop.Kind == feedback.Repeating {
		why = "each change is caused by the one before, and by nothing else, and restores an earlier state"
	}
	return conditions.Problem{
		Subject: "loop", Reason: conditions.ReasonLoop, Stalled: true,
		Err: fmt.Errorf("it never becomes stable: %s (%s); "+
			"Kanon reconciles it with growing pauses, until one of these rules does not depend on what it writes", why, strings.Join(text, " → ")),
	}
}

// conflictError reports that an object is not written, or was not for a while, because others keep taking fields of it back.
type conflictError struct {
	feedback.Conflict

	object mark.Ref
	// nameOf is what people call a field manager.
	nameOf func(manager string) string
	// patched is true where it is a patch that sets the fields, which can ignore nothing.
	patched bool
}

// Reason implements conditions.Reasoned.
func (e *conflictError) Reason() (reason string, stalled bool) {
	return conditions.ReasonContested, true
}

func (e *conflictError) Error() string {
	var paths, ignored []string
	managers := make(map[string]bool)
	for _, f := range e.Fields {
		name := "somebody who removes it"
		if f.Manager != "" {
			name = e.nameOf(f.Manager)
		}
		managers[name] = true
		paths = append(paths, f.Path)
		if !e.patched && !fieldset.IsMark(f.Path) {
			ignored = append(ignored, fmt.Sprintf("%q", f.Path))
		}
	}
	text := fmt.Sprintf("%s of %s is changed back again and again by %s; Kanon does not write it for now, and retries with growing pauses",
		strings.Join(paths, ", "), e.object, strings.Join(slices.Sorted(maps.Keys(managers)), " and by "))
	if len(ignored) > 0 {
		text += "; to stop writing it, write ignore: [" + strings.Join(ignored, ", ") + "]"
	}
	return text
}

// after is how long it takes until the parent is due for the object again.
func (e *conflictError) after() time.Duration { return e.Wait + time.Millisecond }

// fieldsOf are contested fields as feedback takes them.
func fieldsOf(contested []fieldset.Contested) []feedback.Field {
	fields := make([]feedback.Field, len(contested))
	for i, c := range contested {
		fields[i] = feedback.Field(c)
	}
	return fields
}

// sync brings the target of a patch up to date, unless others keep taking back what is set there.
func (t *patching) sync(ctx context.Context, patch apply.Patch) error {
	now, content := t.now(), ""
	if patch.Content != nil {
		content = patch.Content.Content()
	}
	id, lost := identity.Of(patch.Object), fieldsOf(t.writer.LostPatch(patch))
	var suppressed bool
	t.updateConflicts(func(c *feedback.Conflicts) { suppressed = c.Suppress(id, content, lost, now, t.retryMax) })
	if !suppressed {
		defer t.feedback.writes.Begin(feedback.NewWrite(t.key, id, mark.RefOf(patch.Object).String(), t.provenance, 0))()
		result, err := t.writer.SyncPatch(ctx, patch)
		t.noteWrite(result)
		if err != nil {
			return err
		}
		if result.Action != apply.ActionNone {
			t.updateConflicts(func(c *feedback.Conflicts) { c.Wrote(id, content, lost, now) })
		}
	}
	var conflict feedback.Conflict
	t.updateConflicts(func(c *feedback.Conflicts) { conflict = c.Of(id, content, now) })
	if len(conflict.Fields) == 0 {
		return nil
	}
	of := &conflictError{Conflict: conflict, object: mark.RefOf(patch.Object), nameOf: t.running.managerName, patched: true}
	t.out.RequeueAfter(of.after())
	return of
}

// noteWrite takes in the answer of a write of the target, which has begun.
func (t *patching) noteWrite(result apply.Result) {
	live := result.Live
	if live == nil || result.Action == apply.ActionNone {
		return
	}
	t.effect = t.feedback.wrote(t.key, t.provenance, live, feedback.VersionOf(live))
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

func (t *patching) updateConflicts(change func(*feedback.Conflicts)) {
	t.parents.Update(t.key, func(s *parents.State) { s.UpdateConflicts(change) })
}
