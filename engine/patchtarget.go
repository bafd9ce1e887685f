package engine

// What a patch sets in one target: a reconcile of a key (rule, patch, target), which
// applies what all parents contribute together.

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"kanon.dev/kanon/engine/apply"
	"kanon.dev/kanon/engine/apply/fieldset"
	"kanon.dev/kanon/engine/apply/mark"
	"kanon.dev/kanon/engine/apply/patchset"
	"kanon.dev/kanon/engine/conditions"
	"kanon.dev/kanon/engine/contributions"
	"kanon.dev/kanon/engine/feedback"
	"kanon.dev/kanon/engine/monitor"
	"kanon.dev/kanon/engine/operator"
	"kanon.dev/kanon/engine/outcome"
	"kanon.dev/kanon/engine/parents"
	"kanon.dev/kanon/engine/plan"
	"kanon.dev/kanon/engine/queue"
	"kanon.dev/kanon/engine/readers"
)

// refillPause is how long the target of a patch waits for an informer that lists again.
const refillPause = 200 * time.Millisecond

// reconcilePatch brings what a patch sets in one target up to date: what all parents
// contribute to it, and nothing else.
func (e *Engine) reconcilePatch(ctx context.Context, k queue.Key) outcome.Outcome {
	if k.IsSweep() {
		return e.releasePatch(ctx, k)
	}
	op := e.running.Get(k.Rule)
	switch {
	case op == nil:
		return outcome.Outcome{Verdict: outcome.Waiting} // the rule's start comes here again
	case !e.ready(op) && e.contributions.HasBegun(op.Contributing):
		return outcome.Outcome{Verdict: outcome.Later, After: refillPause} // an informer lists again, and that is no start of the rule
	case !e.ready(op):
		return outcome.Outcome{Verdict: outcome.Waiting}
	}
	plan, ok := op.Patches[k.Patch]
	if !ok {
		e.forgetKey(k)
		return outcome.Outcome{}
	}
	now := e.options.Clock.Now()
	provenance, wait := e.feedback.Begin(k, now, e.options.RetryMax)
	if wait > 0 {
		return outcome.Outcome{Verdict: outcome.Later, After: wait}
	}
	saw, current := e.contributions.Collect(op.Contributing, k)
	if !current {
		return outcome.Outcome{Verdict: outcome.Waiting} // the start of the next operator comes here again
	}
	t := &patching{
		cluster: e.cluster, feedback: e.feedback, parents: e.parents, readers: e.readers, borrowed: e.borrowed, running: &e.running,
		retryMax: e.options.RetryMax, op: op, plan: plan, key: k, saw: saw, provenance: provenance,
	}
	if len(t.saw.Parts) > 0 {
		t.follow()
	}
	if loop := provenance.Loop(); loop != nil {
		t.out.RequeueAfter(loop.Wait(now) + time.Millisecond) // the parents in the loop report it
	}
	came := t.runSafely(ctx)
	told := e.contributions.Finish(k, t.saw, came, t.left)
	for _, parent := range told {
		if t.effect != nil { // the parent may see the target before its event
			e.feedback.Caused(parent, t.effect)
		}
	}
	e.addKeys(told)
	if !e.contributions.Contributes(k) && came.Err == nil {
		e.leaveTarget(k)
	}
	out := t.out
	switch {
	case came.Err == nil:
		out.Verdict = outcome.Settled
	case errors.Is(came.Err, errNotRead), came.Reason == conditions.ReasonWaiting, came.Reason == conditions.ReasonHeld, came.Reason == conditions.ReasonFieldTaken,
		came.Reason == conditions.ReasonContested:
		out.Verdict = outcome.Waiting // for an event of the target, of its informer, or of a parent, or for the end of a pause
	case !came.IsLogged():
		out.Verdict = outcome.Again // the parents are told
	default:
		out.Verdict, out.Err = outcome.Again, fmt.Errorf("patch %s: %w", k.Patch, came.Err)
	}
	return out
}

// patching is one reconcile of a target.
type patching struct {
	*cluster

	feedback *feedback.Tracker
	parents  *parents.Store
	readers  *readers.Index
	borrowed *readers.Borrowed
	running  *operator.Running
	// retryMax bounds the pauses while fields of the target are in conflict.
	retryMax time.Duration

	op   *operator.Operator
	plan plan.Patch
	key  queue.Key
	saw  contributions.Collected
	// provenance is what led to the reconcile, as far as it was rules.
	provenance *feedback.Provenance
	// effect is the provenance of what follows from a write of the reconcile; nil where it has not written.
	effect *feedback.Provenance
	// left are the problems of parents whose part is left out.
	left map[types.NamespacedName]conditions.Problem
	// out is the outcome so far: the time after which the target has to be reconciled again.
	out outcome.Outcome
}

func (t *patching) name() string {
	return mark.Ref{
		Group: t.plan.GVK.Group, Kind: t.plan.GVK.Kind, Namespace: t.key.Parent.Namespace, Name: t.key.Parent.Name,
	}.String()
}

// follow has the target's events enqueue the key. It comes before the target is read.
func (t *patching) follow() {
	informer := t.plan.InformerFor(t.key.Parent.Namespace)
	if t.plan.Borrowed {
		t.borrowed.Use(t.key, informer)
	}
	s := readers.Subject{Informer: informer, Namespace: t.key.Parent.Namespace, Name: t.key.Parent.Name}
	t.readers.Add(t.key, s, labels.Everything())
}

// runSafely is run, with a panic as a problem: the look is to be ended in any case.
func (t *patching) runSafely(ctx context.Context) (came conditions.Problem) {
	var err error
	defer func() {
		if err != nil {
			came = t.problem(err)
		}
	}()
	defer outcome.ContainPanic(&err)
	return t.run(ctx)
}

// run gives what is in the way; a problem without an error where nothing is.
func (t *patching) run(ctx context.Context) conditions.Problem {
	if t.saw.Pending {
		return t.problem(errNotRead) // the end of the wave comes here again
	}
	together, err := patchset.Merge(t.saw.Merged, t.saw.Parts)
	if err != nil {
		return t.problem(err)
	}
	t.saw.Merged = nil
	if len(t.saw.Parts) > 1 {
		t.saw.Merged = together // for the next time
	}
	merged := together.Part
	t.leaveOut(together.Contradictions)
	live, err := t.live(ctx, merged == nil)
	if err == nil && live == nil {
		t.parents.ForgetConflicts(t.key)
	}
	switch {
	case err != nil:
		return t.problem(err)
	case live == nil && merged == nil:
		return conditions.Problem{}
	case live == nil:
		return conditions.Problem{Subject: t.subject(), Reason: conditions.ReasonWaiting, Err: fmt.Errorf("%s does not exist yet", t.name())}
	case live.GetDeletionTimestamp() != nil && merged == nil:
		return conditions.Problem{}
	case t.saw.Doubt != "" && patchset.Shrinks(live, t.plan.Manager, merged):
		return t.blocked(fmt.Sprintf("%s stays as it is, because it is not known what parent %s sets there; the conditions and Events of that parent report why", t.name(), t.saw.Doubt))
	}
	err = t.sync(ctx, apply.Patch{
		GVR: t.plan.Kind.GVR, Object: live, Manager: t.plan.Manager, Content: merged, Refuse: t.plan.Refuse, Keeps: t.keeps,
	})
	if err != nil {
		return t.problem(err)
	}
	if merged == nil {
		t.writer.ForgetPatch(live.GetUID(), t.plan.Manager)
	}
	return conditions.Problem{}
}

// live is the target as it is known; nil where it is not there. Where the patch is to
// be released, one that has left the informer's view is read.
func (t *patching) live(ctx context.Context, release bool) (*unstructured.Unstructured, error) {
	target := t.key.Parent
	informer := t.plan.InformerFor(target.Namespace)
	if view := t.monitors.View(informer); view != nil {
		if live, ok := view.Get(target.Namespace, target.Name); ok {
			return live, nil
		}
	} else if !release {
		return nil, t.unread(informer)
	}
	if !release || t.plan.IsWhole() {
		return nil, nil
	}
	return t.readTarget(ctx, t.plan.Kind.GVR, target)
}

// unread says why an informer does not show the target yet.
func (t *patching) unread(informer monitor.Key) error {
	if err := t.monitors.Failure(informer); err != nil {
		return &unreadError{fmt.Errorf("cannot read %s: %w", informer.GVR.GroupResource(), err)}
	}
	return errNotRead // when it has filled, the key comes again
}

// errNotRead says that a target has not been read yet. It is about to be.
var errNotRead = conditions.Transient("it is being read for the first time")

// unreadError says that an informer has not filled; its event comes.
type unreadError struct{ err error }

func (e *unreadError) Error() string { return e.err.Error() }
func (e *unreadError) Unwrap() error { return e.err }

func (t *patching) subject() string { return "patch " + t.key.Patch }

func (t *patching) blocked(why string) conditions.Problem {
	return conditions.Problem{Subject: t.subject(), Reason: conditions.ReasonHeld, Elsewhere: true, Err: errors.New(why)}
}

// problem sorts what went wrong into what it means for the parents.
func (t *patching) problem(err error) conditions.Problem {
	p := conditions.OfWrite("", err)
	p.Subject, p.Elsewhere = t.subject(), true
	if field, ok := errors.AsType[*apply.FieldConflictError](err); ok {
		p.Reason, p.Stalled, p.Err = conditions.ReasonFieldTaken, true, field
	}
	if unread, ok := errors.AsType[*unreadError](err); ok {
		p.Reason, p.Err = conditions.ReasonWaiting, unread
	}
	if t.op.Program.HasSecrets() {
		p.Err = conditions.Redact(p.Err)
	}
	return p
}

// leaveOut notes the parents whose part contradicts that of an older one.
func (t *patching) leaveOut(contradictions []patchset.Contradiction) {
	t.left = make(map[types.NamespacedName]conditions.Problem, len(contradictions))
	for _, c := range contradictions {
		t.left[t.saw.Parents[c.Part]] = conditions.Problem{
			Subject: t.subject(), Reason: conditions.ReasonContradiction, Stalled: true, Elsewhere: true,
			Err: fmt.Errorf("%s: %s %s, which is older, sets %s to another value, so nothing is set there for this one",
				t.name(), t.op.Parent.GVK.Kind, shortName(t.saw.Parents[c.Other]), c.Path),
		}
	}
}

// keeps says why a patch takes nothing from a manager: who has the field there would
// put it back, for ever.
func (t *patching) keeps(manager string) string {
	if manager == fieldset.Manager {
		return "a rule makes the object and sets the field; let that rule ignore it"
	}
	for id, op := range t.running.Load().ByID {
		patch, ok := strings.CutPrefix(manager, patchset.ManagersOf(id))
		if !ok || manager == t.plan.Manager {
			continue
		}
		if _, there := op.Patches[patch]; there {
			return fmt.Sprintf("patch %s of rule %s sets it to something else", patch, op.Name)
		}
	}
	return ""
}
