package patching

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"kanon.dev/kanon/engine/apply"
	"kanon.dev/kanon/engine/apply/fieldset"
	"kanon.dev/kanon/engine/apply/mark"
	"kanon.dev/kanon/engine/conditions"
	"kanon.dev/kanon/engine/feedback"
	"kanon.dev/kanon/engine/identity"
	"kanon.dev/kanon/engine/operator"
	"kanon.dev/kanon/engine/queue"
	"kanon.dev/kanon/engine/tenant"
	"kanon.dev/kanon/engine/watch"
	"kanon.dev/kanon/rules/program"
)

// refillPause is how long a target waits for an informer that lists again.
const refillPause = 200 * time.Millisecond

// Reconcile brings one target of a patch up to date with what all parents contribute to it. op is the operator of the
// rule, or nil. ready is true if the rule may write.
func (p *Patches) Reconcile(ctx context.Context, op *operator.Operator, k queue.Key, ready bool) queue.Outcome {
	switch {
	case k.IsPatchCleanup():
		return p.restore(ctx, k)
	case op == nil:
		return queue.Await(queue.RuleStarts)
	case !ready && p.ledgers.hasBegun(op.Plan):
		return queue.Outcome{Verdict: queue.Later, After: refillPause} // an informer lists again; no start of the rule will enqueue the key
	case !ready:
		return queue.Await(queue.RuleStarts)
	}
	planned, ok := op.Patches[k.Patch]
	if !ok {
		p.Parents.Forget(k)
		p.Readers.Keep(k, nil)
		return queue.Outcome{}
	}
	now := p.Now()
	provenance, wait := p.Feedback.Begin(k, now, p.RetryMax)
	if wait > 0 {
		return queue.Outcome{Verdict: queue.Later, After: wait}
	}
	saw, current := p.ledgers.collect(op.Plan, k)
	if !current {
		return queue.Await(queue.RuleStarts)
	}
	t := &target{Patches: p, op: op, plan: planned, key: k, saw: saw, provenance: provenance}
	if planned.IsPrivate() || planned.PrivateKeys {
		t.hideNames()
		ctx = logr.NewContext(ctx, t.names.Log(logr.FromContextOrDiscard(ctx)))
	}
	if len(t.saw.parts) > 0 {
		t.follow()
	}
	if loop := provenance.Loop(); loop != nil {
		t.out.RequeueAfter(loop.Wait(now) + time.Millisecond) // the parents in the loop report it
	}
	came := t.runSafely(ctx)
	waited := p.ledgers.finish(k, t.saw, came, t.left)
	for _, parent := range waited {
		if t.effect != nil { // the parent may read the target before its event arrives
			p.Feedback.Caused(parent, t.effect)
		}
	}
	p.addKeys(waited)
	if !p.ledgers.contributes(k) && came.Err == nil {
		p.Parents.Forget(k)
		p.Readers.Keep(k, nil)
	}
	return t.outcome(came)
}

// target is one reconcile of a target.
type target struct {
	*Patches

	op   *operator.Operator
	plan operator.Patch
	key  queue.Key
	saw  collected
	// names are the names that must not be told; nil unless the target's is computed from a Secret.
	names *conditions.Names
	// provenance is the chain of rules that led to the reconcile.
	provenance *feedback.Provenance
	// effect is the provenance for what follows from a write of this reconcile; nil if it wrote nothing.
	effect *feedback.Provenance
	// left has the problems of parents whose part is left out.
	left map[types.NamespacedName]conditions.Problem
	// out has the time after which to reconcile the target again.
	out queue.Outcome
}

// outcome returns the outcome of the reconcile for the problem that it found.
func (t *target) outcome(came conditions.Problem) queue.Outcome {
	out := t.out
	switch {
	case came.Err == nil:
	case errors.Is(came.Err, errNotRead):
		out = out.AndAwait(queue.InformerSyncs)
	case came.Reason == conditions.ReasonContested:
		out = out.AndAwait(queue.PauseEnds)
	case came.Reason == conditions.ReasonWaiting, came.Reason == conditions.ReasonHeld, came.Reason == conditions.ReasonFieldTaken:
		out = out.AndAwait(queue.InputChanges) // of the target, or of a parent that contributes
	case !came.IsLogged():
		out.Verdict = queue.Again // the parents report it
	default:
		out.Verdict, out.Err = queue.Again, fmt.Errorf("patch %s: %w", t.key.Patch, came.Err)
	}
	return out
}

func (t *target) name() string {
	if t.plan.IsPrivate() {
		return t.plan.PrivateName()
	}
	return t.plan.RefTo(t.key.Parent).String()
}

// follow has events of the target enqueue the key. It is called before the target is read.
func (t *target) follow() {
	informer := t.plan.InformerFor(t.key.Parent.Namespace)
	s := watch.Subject{Informer: informer, Namespace: t.key.Parent.Namespace, Name: t.key.Parent.Name, Borrowed: t.plan.Borrowed}
	t.Readers.Add(t.key, s, labels.Everything())
}

// runSafely is run, but turns a panic into a problem, because Finish must be called in any case.
func (t *target) runSafely(ctx context.Context) (came conditions.Problem) {
	var err error
	defer func() {
		if err != nil {
			came = t.problem(err)
		}
	}()
	defer queue.ContainPanic(&err)
	return t.run(ctx)
}

// run applies the contributions and returns the problem with them; one without an error if there is none.
func (t *target) run(ctx context.Context) conditions.Problem {
	if t.saw.pending {
		return t.problem(errNotRead) // the end of the start enqueues the key
	}
	merged, leftOut, err := Merge(t.saw.parts)
	if err != nil {
		return t.problem(err)
	}
	t.leaveOut(leftOut)
	if err := t.Reads.Check(ctx, t.op.Identity, tenant.Read{Resource: t.plan.Kind.GVR, Namespace: t.key.Parent.Namespace, Name: t.key.Parent.Name}); err != nil {
		t.out.RequeueAfter(tenant.Lifetime)
		return t.problem(err)
	}
	live, err := t.live(ctx, merged == nil)
	if err == nil && live == nil {
		t.Parents.ForgetConflicts(t.key)
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
	case t.saw.doubt != "" && Shrinks(live, t.plan.Manager, merged):
		return t.blocked(fmt.Sprintf("%s stays as it is, because it is not known what parent %s sets there; the conditions and Events of that parent report why", t.name(), t.saw.doubt))
	}
	if merged != nil {
		if err := t.mayPatch(live); err != nil {
			return t.problem(err)
		}
	}
	err = t.sync(ctx, Patch{
		GVR: t.plan.Kind.GVR, Object: live, Manager: t.plan.Manager, Content: merged, Refuse: t.plan.Refuse, Keeps: t.keeps,
	})
	if err != nil {
		return t.problem(err)
	}
	if merged == nil {
		t.Writer.Forget(live.GetUID(), t.plan.Manager)
	}
	return conditions.Problem{}
}

// mayPatch returns an error if the rule must not change the target, whatever it sets there.
func (t *target) mayPatch(live *unstructured.Unstructured) error {
	if err := t.Writer.MayWrite(live); err != nil {
		return err //nolint:wrapcheck // it is about the object
	}
	if reason := program.PrivilegeOfObject(live); reason != "" && !t.op.Program.AllowPrivileged {
		return &program.PrivilegeError{Object: t.name(), Because: reason}
	}
	return nil
}

// sync brings the target up to date, unless writing is suppressed because others keep taking fields back.
func (t *target) sync(ctx context.Context, patch Patch) error {
	now, content := t.Now(), ""
	if patch.Content != nil {
		content = patch.Content.Digest
	}
	id, lost := identity.Of(patch.Object), t.Writer.Lost(patch)
	var suppressed bool
	t.Parents.UpdateConflicts(t.key, func(c *feedback.Conflicts) { suppressed = c.Suppress(id, content, lost, now, t.RetryMax) })
	if !suppressed {
		defer t.Feedback.BeginWrite(t.key, id, t.name(), t.provenance, 0)()
		live, written, err := t.Writer.Sync(ctx, patch)
		if err != nil {
			return err
		}
		if written {
			t.noteWrite(live)
			t.Parents.UpdateConflicts(t.key, func(c *feedback.Conflicts) { c.Wrote(id, content, lost, now) })
		}
	}
	var conflict feedback.Conflict
	t.Parents.UpdateConflicts(t.key, func(c *feedback.Conflicts) { conflict = c.Of(id, content, now) })
	if len(conflict.Fields) == 0 {
		return nil
	}
	of := &conditions.FieldConflictError{Conflict: conflict, Object: mark.RefOf(patch.Object), NameOf: func(manager string) string { return t.Running.ManagerFor(t.op, manager) }, Patched: true}
	t.out.RequeueAfter(of.After())
	return of
}

// noteWrite records the answer of a write of the target.
func (t *target) noteWrite(live *unstructured.Unstructured) {
	t.effect = t.Feedback.Wrote(t.key, identity.Of(live), feedback.VersionOf(live))
	t.Monitors.Observe(t.plan.InformerFor(t.key.Parent.Namespace), live)
}

// live returns the target; nil if it does not exist. If the patch is to be released and the target is not in the
// informer's view, it is read from the API server.
func (t *target) live(ctx context.Context, release bool) (*unstructured.Unstructured, error) {
	target := t.key.Parent
	informer := t.plan.InformerFor(target.Namespace)
	if view := t.Monitors.View(informer); view != nil {
		if live, ok := view.Get(target.Namespace, target.Name); ok {
			return live, nil
		}
	} else if !release {
		return nil, t.unread(informer)
	}
	if !release || t.plan.IsWhole() {
		return nil, nil
	}
	live, err := t.Client.Resource(t.plan.Kind.GVR).Namespace(target.Namespace).Get(ctx, target.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("read %s %s: %w", t.plan.Kind.GVR.GroupResource(), shortName(target), err)
	}
	return live, nil
}

// unread says why the informer does not show the target yet.
func (t *target) unread(informer watch.Key) error {
	if err := t.Monitors.Failure(informer); err != nil {
		return &unreadError{fmt.Errorf("cannot read %s: %w", informer.GVR.GroupResource(), err)}
	}
	return errNotRead // its sync enqueues the key
}

// errNotRead means that the target's informer is about to fill.
var errNotRead = conditions.Transient("it is being read for the first time")

// unreadError means that the informer cannot fill; once it does, the key is enqueued.
type unreadError struct{ err error }

func (e *unreadError) Error() string { return e.err.Error() }
func (e *unreadError) Unwrap() error { return e.err }

func (t *target) subject() string { return "patch " + t.key.Patch }

func (t *target) blocked(why string) conditions.Problem {
	return conditions.Problem{Subject: t.subject(), Reason: conditions.ReasonHeld, Elsewhere: true, Err: errors.New(why)}
}

// hideNames has the names that the rule computes from Secrets replaced in all that people are told.
func (t *target) hideNames() {
	t.names = conditions.NewNames("")
	if t.plan.IsPrivate() {
		t.names.Note(t.plan.RefTo(t.key.Parent), t.plan.PrivateName())
	}
	if t.plan.PrivateKeys {
		for _, part := range t.saw.parts {
			t.names.NoteKeys(program.ComputedKeys(t.plan.Template, part.value.AsValue().Unstructured()), "a key of patch "+t.plan.ID)
		}
	}
}

// problem turns an error into the problem that the parents report.
func (t *target) problem(err error) conditions.Problem {
	p := conditions.OfWrite("", err)
	p.Subject, p.Elsewhere = t.subject(), true
	if field, ok := errors.AsType[*apply.FieldConflictError](err); ok {
		p.Reason, p.Stalled, p.Err = conditions.ReasonFieldTaken, true, field
	}
	if unread, ok := errors.AsType[*unreadError](err); ok {
		p.Reason, p.Err = conditions.ReasonWaiting, unread
	}
	if t.op.Program.HasSecrets {
		p.Err = t.names.Error(conditions.Redact(p.Err))
	}
	return p
}

// leaveOut records the parents whose part contradicts that of an older parent.
func (t *target) leaveOut(contradictions []Contradiction) {
	t.left = make(map[types.NamespacedName]conditions.Problem, len(contradictions))
	for _, c := range contradictions {
		t.left[t.saw.parents[c.Part]] = conditions.Problem{
			Subject: t.subject(), Reason: conditions.ReasonContradiction, Stalled: true, Elsewhere: true,
			Err: t.names.Error(fmt.Errorf("%s: %s %s, which is older, sets %s to another value, so nothing is set there for this one",
				t.name(), t.op.Parent.GVK.Kind, shortName(t.saw.parents[c.Other]), c.Path)),
		}
	}
}

// keeps returns why a patch may not take fields from a manager; empty if it may. Managers of other rules would take
// them back for ever.
func (t *target) keeps(manager string) string {
	if manager == fieldset.Manager {
		return "a rule makes the object and sets the field; let that rule ignore it"
	}
	for id, op := range t.Running.Load().ByID {
		patch, ok := strings.CutPrefix(manager, fieldset.PatchManagersOf(id))
		if !ok || manager == t.plan.Manager {
			continue
		}
		if _, there := op.Patches[patch]; there {
			title, known := t.Running.TitleFor(t.op, id)
			if !known {
				return title + " sets it to something else"
			}
			return fmt.Sprintf("patch %s of %s sets it to something else", patch, title)
		}
	}
	return ""
}
