package engine

// What the engine tells package feedback, and makes of what that finds.

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kanon.dev/kanon/engine/apply"
	"kanon.dev/kanon/engine/conditions"
	"kanon.dev/kanon/engine/feedback"
	"kanon.dev/kanon/engine/identity"
	"kanon.dev/kanon/engine/monitor"
	"kanon.dev/kanon/engine/parents"
	"kanon.dev/kanon/engine/queue"
)

func (e *Engine) updateChain(k queue.Key, change func(*feedback.Chain)) {
	e.parents.Update(k, func(s *parents.State) { s.UpdateChain(change) })
}

func (e *Engine) updateChains(change func(queue.Key, *feedback.Chain)) {
	e.parents.UpdateAll(func(k queue.Key, s *parents.State) {
		if s.Chain != nil {
			s.UpdateChain(func(c *feedback.Chain) { change(k, c) })
		}
	})
}

func (t *patching) updateConflicts(change func(*feedback.Conflicts)) {
	t.parents.Update(t.key, func(s *parents.State) { s.UpdateConflicts(change) })
}

// forgetConflicts forgets those about the target of a patch.
func (e *Engine) forgetConflicts(target queue.Key) {
	e.parents.Update(target, func(s *parents.State) { s.Conflicts = nil })
}

// noteChange takes in that a change of an object enqueues a key.
func (e *Engine) noteChange(k queue.Key, event monitor.Event) {
	obj := event.Newest()
	if obj == nil {
		return
	}
	e.expireWrites()
	how := e.writes.Of(feedback.Change{
		Object: identity.At(obj), Version: feedback.Version{UID: obj.UID(), Resource: obj.ResourceVersion()},
	})
	e.updateChain(k, func(c *feedback.Chain) { c.Changed(how) })
}

// expireWrites forgets writes, and chains of them, that can have no effect any more.
func (e *Engine) expireWrites() {
	now := e.options.Clock.Now()
	if e.writes.Rotate(now) {
		e.updateChains(func(_ queue.Key, c *feedback.Chain) { c.Expire(now) })
	}
}

// restartChains ends all loops because the rules have changed, and enqueues the keys that were in one.
func (e *Engine) restartChains() {
	var looped []queue.Key
	e.updateChains(func(k queue.Key, c *feedback.Chain) {
		if c.Restart() {
			looped = append(looped, k)
		}
	})
	e.addKeys(looped)
}

// beginChain begins a reconcile of a key, and gives what led to it, or how long it has to wait because the key is in a loop.
func (e *Engine) beginChain(k queue.Key, now time.Time) (provenance *feedback.Provenance, wait time.Duration) {
	e.updateChain(k, func(c *feedback.Chain) { provenance, wait = c.Begin(k, now, e.options.RetryMax) })
	return provenance, wait
}

// wrote takes in that a write of an object by a reconcile of a key, which has begun, made that version of the object.
func (e *Engine) wrote(k queue.Key, cause *feedback.Provenance, obj *unstructured.Unstructured, v feedback.Version) (effect *feedback.Provenance) {
	e.expireWrites()
	var digest uint64
	if cause.IsLong(k) && !v.IsDeletion() {
		digest = e.writes.Digest(obj)
	}
	e.updateChain(k, func(c *feedback.Chain) {
		effect = e.writes.Done(c, k, identity.Of(obj), v, digest, e.options.Clock.Now())
	})
	return effect
}

// begin takes in that the reconcile is writing an object; the function that it returns, that this is over.
func (p *pass) begin(obj *unstructured.Unstructured) (end func()) {
	return p.writes.Begin(feedback.NewWrite(p.key, identity.Of(obj), apply.RefOf(obj).String(), p.provenance, len(p.desired)))
}

// observe takes in the answer of a write, before which begin was called: as the newest knowledge of the object, and as a cause of
// what follows.
func (p *pass) observe(informer monitor.Key, obj *unstructured.Unstructured) {
	if informer == p.op.parentKey || p.op.looksBack.Load() || p.running.load().reads[informer.GVR] || p.provenance.IsLong(p.key) {
		p.wrote(p.key, p.provenance, obj, feedback.VersionOf(obj))
	}
	p.monitors.Observe(informer, obj)
}

// deleted takes in that the reconcile deleted an object, before which begin was called.
func (p *pass) deleted(obj *unstructured.Unstructured) {
	p.wrote(p.key, p.provenance, obj, feedback.Version{UID: obj.GetUID()})
}

// addPatches enqueues the targets for which the parent contributes something else now.
func (p *pass) addPatches(keys []queue.Key) {
	for _, k := range keys {
		how := p.provenance.Then(p.key, "its part of patch "+k.Patch)
		p.updateChain(p.key, func(c *feedback.Chain) { c.Continue(p.key, p.provenance, p.options.Clock.Now()) })
		p.updateChain(k, func(c *feedback.Chain) { c.Changed(how) })
	}
	p.addKeys(keys)
}

// checkLoop adds the loop that the reconcile is part of to the problems, and requeues the parent for when the pause is over.
func (p *pass) checkLoop() {
	loop := p.provenance.Loop()
	if loop == nil {
		return
	}
	p.problems = append(p.problems, p.problemOfLoop(loop))
	p.requeueAfter(loop.Wait(p.started) + time.Millisecond)
}

func (e *Engine) problemOfLoop(loop *feedback.Loop) conditions.Problem {
	text := make([]string, 0, len(loop.Steps)+1)
	for _, step := range loop.Steps {
		text = append(text, fmt.Sprintf("rule %s for %s writes %s", e.nameOf(step.Key.Rule), step.Key.Parent, step.Wrote))
	}
	if len(loop.Steps) > 0 {
		first := loop.Steps[0].Key
		text = append(text, fmt.Sprintf("rule %s for %s", e.nameOf(first.Rule), first.Parent))
	}
	why := fmt.Sprintf("each of the last %d changes was caused by the one before, and by nothing else", loop.Rounds)
	if loop.Kind == feedback.Repeating {
		why = "each change is caused by the one before, and by nothing else, and brings back what was there before"
	}
	return conditions.Problem{
		Subject: "loop", Reason: conditions.ReasonLoop, Stalled: true,
		Err: fmt.Errorf("it never comes to rest: %s (%s); "+
			"it goes on with growing pauses, until one of these rules does not depend on what it writes", why, strings.Join(text, " → ")),
	}
}

// conflictError reports that an object is not written, or was not for a while, because others keep taking fields of it back.
type conflictError struct {
	feedback.Conflict

	object apply.Ref
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
		if !e.patched && !apply.IsMark(f.Path) {
			ignored = append(ignored, fmt.Sprintf("%q", f.Path))
		}
	}
	text := fmt.Sprintf("%s of %s keeps being taken back by %s; it is left to them for now, and tried again with growing pauses",
		strings.Join(paths, ", "), e.object, strings.Join(slices.Sorted(maps.Keys(managers)), " and by "))
	if len(ignored) > 0 {
		text += "; to leave it to them for good, say ignore: [" + strings.Join(ignored, ", ") + "]"
	}
	return text
}

// after is how long it takes until the object is to be looked at again.
func (e *conflictError) after() time.Duration { return e.Wait + time.Millisecond }

// managerName is what people call a field manager: that of a rule by the rule.
func (e *Engine) managerName(manager string) string {
	for id, op := range e.running.load().byID {
		if strings.Contains(manager, id) {
			return "rule " + op.name.String()
		}
	}
	return manager
}

// checkConflict gives an error where a child must not be written now, because others keep taking fields of it back.
func (p *pass) checkConflict(child *apply.Child, live *unstructured.Unstructured) error {
	id, conflicts := identity.Of(child.Object), &p.memory.Conflicts
	if live == nil || !conflicts.IsKnown(id) ||
		!conflicts.Suppress(id, child.Content(), fieldsOf(child.Lost(live)), p.started, p.options.RetryMax) {
		return nil
	}
	return p.conflict(child)
}

// noteConflict counts what a write took back of others, and gives an error where fields of a child that is as it should be are
// still in conflict.
func (p *pass) noteConflict(child *apply.Child, result apply.Result) error {
	p.memory.Conflicts.Wrote(identity.Of(child.Object), child.Content(), fieldsOf(result.Lost), p.started)
	return p.conflict(child)
}

// conflict is the error of a child of which fields are in conflict; nil for any other child.
func (p *pass) conflict(child *apply.Child) error {
	conflict := p.memory.Conflicts.Of(identity.Of(child.Object), child.Content(), p.started)
	if len(conflict.Fields) == 0 {
		return nil
	}
	return &conflictError{Conflict: conflict, object: child.Ref, nameOf: p.managerName}
}

// fieldsOf are contested fields as feedback takes them.
func fieldsOf(contested []apply.Contested) []feedback.Field {
	fields := make([]feedback.Field, len(contested))
	for i, c := range contested {
		fields[i] = feedback.Field(c)
	}
	return fields
}

// sync brings the target of a patch up to date, unless others keep taking back what is set there.
func (t *patching) sync(ctx context.Context, patch apply.Patch) error {
	now, content := t.options.Clock.Now(), ""
	if patch.Content != nil {
		content = patch.Content.Content()
	}
	id, lost := identity.Of(patch.Object), fieldsOf(t.writer.LostPatch(patch))
	var suppressed bool
	t.updateConflicts(func(c *feedback.Conflicts) { suppressed = c.Suppress(id, content, lost, now, t.options.RetryMax) })
	if !suppressed {
		defer t.writes.Begin(feedback.NewWrite(t.key, id, apply.RefOf(patch.Object).String(), t.provenance, 0))()
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
	of := &conflictError{Conflict: conflict, object: apply.RefOf(patch.Object), nameOf: t.managerName, patched: true}
	t.out.requeueAfter(of.after())
	return of
}

// noteWrite takes in the answer of a write of the target, which has begun.
func (t *patching) noteWrite(result apply.Result) {
	live := result.Live
	if live == nil || result.Action == apply.ActionNone {
		return
	}
	t.effect = t.wrote(t.key, t.provenance, live, feedback.VersionOf(live))
	t.monitors.Observe(t.plan.informerFor(t.key.Parent.Namespace), live)
}

// checkStatusLoop keeps the status as it is where the rule computes it from itself, so that each write asks for the next one.
func (p *pass) checkStatusLoop(ctx context.Context) error {
	if p.reader.inputs == nil || p.outcome.StatusHeld {
		return nil
	}
	others, err := p.writer.OthersStatus(ctx, p.status(nil))
	if err != nil {
		return err
	}
	if shape, err := p.conditionsShape(ctx); err == nil && p.mergesConditions(shape, p.outcome.Status) {
		others = conditions.Without(others, p.op.program.ConditionPrefix(), p.op.program.ConditionTypes())
	}
	digest, err := p.reader.inputs.Digest(p.parent, others, isStatusManager)
	if err != nil {
		return err
	}
	p.memory.StatusLoop.Evaluated(p.reader.inputs, digest, p.due)
	p.changed = p.changedStatus()
	for _, leaf := range p.memory.StatusLoop.Looping(p.changed) {
		p.problems = append(p.problems, conditions.Problem{
			Subject: leaf, Reason: conditions.ReasonRestless, Stalled: true,
			Err: fmt.Errorf("it changes in every evaluation with nothing else to cause that (%d in a row): "+
				"the rule computes it from the status that it writes", feedback.MaxStatusChanges),
		})
		p.outcome.StatusHeld = true
	}
	if p.outcome.StatusHeld {
		for i := range p.outcome.Conditions {
			p.outcome.Conditions[i].Held = true
		}
	}
	return nil
}

// changedStatus names what the rule reports otherwise than the parent does now.
func (p *pass) changedStatus() []string {
	changed := feedback.ChangedLeaves("status", p.outcome.Status, p.parent.Object["status"])
	for _, c := range p.outcome.Conditions {
		if c.Held {
			continue
		}
		now := conditions.Find(p.parent, c.Type)
		if now["status"] != c.Status || now["reason"] != c.Reason || now["message"] != c.Message {
			changed = append(changed, "condition "+c.Type)
		}
	}
	return changed
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
func isStatusManager(manager string) bool { return strings.HasPrefix(manager, statusManagers) }
