package engine

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
	"kanon.dev/kanon/engine/contributions"
	"kanon.dev/kanon/engine/monitor"
	"kanon.dev/kanon/engine/queue"
	"kanon.dev/kanon/engine/readers"
	"kanon.dev/kanon/restmapping"
	"kanon.dev/kanon/rules"
)

// patchPlan is one node of spec.patches and where its targets are.
type patchPlan struct {
	rules.Patch
	// lookup finds the targets.
	lookup
	manager string
}

// newPatchPlan plans how a patch of the operator is carried out.
func newPatchPlan(op *operator, patch rules.Patch, kind restmapping.Kind) patchPlan {
	plan := patchPlan{Patch: patch, manager: apply.PatchManager(op.id, patch.ID)}
	if patch.Parent {
		plan.lookup = lookup{kind: kind, key: op.parentKey}
		return plan
	}
	plan.lookup = newLookup(rules.Lookup{GVK: patch.GVK, Namespaced: patch.Namespaced, Namespace: patch.Namespace, Selector: patch.Selector}, kind)
	plan.members = true // what is in a target concerns the target's key
	return plan
}

// whole tells whether the informer shows every object that the patch could ever have
// been for.
func (p patchPlan) whole() bool { return !p.borrowed && p.key.Namespace == "" && p.key.Selector == "" }

// informerFor is the informer that shows the targets in a namespace.
func (p patchPlan) informerFor(namespace string) monitor.Key {
	informer := p.key
	if p.borrowed {
		informer.Namespace = namespace
	}
	return informer
}

// planPatches plans what the rule says in spec.patches.
func (op *operator) planPatches(program *rules.Program) {
	for _, patch := range program.Patches() {
		kind, ok := op.kinds.found[patch.GVK]
		if patch.Parent {
			kind, ok = op.parent, true
		}
		if !ok {
			continue // its targets do not exist
		}
		op.patches[patch.ID] = newPatchPlan(op, patch, kind)
		op.contributing.Kinds[patch.ID] = patch.GVK
	}
}

// beginPatches opens the wave of a rule that starts: its targets are left alone until
// each parent was looked at. What the rule patched before, as the targets themselves
// tell, is looked at then.
func (e *Engine) beginPatches(op *operator) {
	if e.contributions.HasBegun(op.contributing) {
		return
	}
	e.retirePatches(op.id, op)
	found := make(queue.Keys)
	for id, plan := range op.patches {
		if !plan.whole() {
			found[queue.Key{Rule: op.id, Patch: id}] = true // others are looked for
		}
		if plan.borrowed {
			continue
		}
		for _, object := range e.monitors.Heads(plan.key) {
			if apply.TakenInVain(object) {
				found[queue.Key{Rule: op.id, Patch: id, Parent: keyOf("", object).Parent}] = true
			}
			for _, patched := range apply.Patched(object, op.id) {
				if op.patches[patched].key == plan.key {
					found[queue.Key{Rule: op.id, Patch: patched, Parent: keyOf("", object).Parent}] = true
				}
			}
		}
	}
	for _, k := range e.remembered(op.id) {
		if k.Patch != "" {
			e.queue.AddPatient(k) // to be followed still, or not any more
		}
	}
	parents := make(map[types.NamespacedName]contributions.Parent)
	for _, parent := range e.monitors.Heads(op.parentKey) {
		parents[keyOf(op.id, parent).Parent] = contributorOf(parent)
	}
	for _, k := range e.contributions.Begin(op.contributing, parents, found) {
		e.queue.AddPatient(k)
	}
}

// contributorOf is what tells the parents of a patch apart.
func contributorOf(parent *unstructured.Unstructured) contributions.Parent {
	return contributions.Parent{UID: parent.GetUID(), Created: parent.GetCreationTimestamp().Time}
}

func (e *Engine) addKeys(keys []queue.Key) {
	for _, k := range keys {
		e.queue.Add(k)
	}
}

// contribute says what the parent contributes by patches, and takes in how that
// fares. It tells whether something is about to be applied for the first time: the
// pass that follows that knows how it went.
func (p *pass) contribute(ctx context.Context) (soon bool) {
	for _, outcome := range p.outcome.Patches {
		plan, ok := p.op.patches[outcome.ID]
		if !ok {
			continue // its kind is missing
		}
		now := p.contribution(ctx, plan, outcome)
		p.addPatches(p.contributions.Set(p.op.contributing, p.key.Parent, outcome.ID, now))
		fares, awaited := p.contributions.Fares(p.op.contributing, p.key.Parent, outcome.ID)
		for _, fare := range fares {
			if fare.Problem.reason != reasonHeld || !p.isInPlace(plan, fare.Target, fare.Part) {
				p.problems = append(p.problems, p.told(fare.Problem))
			}
		}
		soon = soon || awaited
	}
	return soon
}

// contribution makes of what was rendered what is set in each target.
func (p *pass) contribution(ctx context.Context, plan patchPlan, outcome rules.PatchOutcome) *contributions.Contribution {
	now := &contributions.Contribution{
		Parent: contributorOf(p.parent), Open: outcome.Unknown,
		Parts: make(map[types.NamespacedName]*apply.Part), Doubtful: make(map[types.NamespacedName]bool),
	}
	for _, item := range outcome.Contributions {
		targets, err := p.targets(plan, item.Target)
		if err != nil {
			now.Open = true
			p.addPatchProblem(outcome.ID, problem{reason: reasonWaiting, err: err})
			continue
		}
		var part *apply.Part
		if item.Object != nil {
			if part, err = p.writer.Part(ctx, item.Object); err != nil {
				p.addPatchProblem(outcome.ID, problemOfPart(err))
			}
		}
		for _, target := range targets {
			if err := p.writer.MayContribute(plan.GVK.GroupKind(), target, part); err != nil {
				// What others contribute to the target is not refused because of it.
				p.addPatchProblem(outcome.ID, problemOf(&write{err: err}))
				continue
			}
			p.addPart(now, outcome.ID, target, part)
		}
	}
	return now
}

// problemOfPart is why what is set is not known although it was rendered.
func problemOfPart(err error) problem {
	of := problemOf(&write{err: err})
	if invalid, ok := errors.AsType[*apply.InvalidError](err); ok {
		// Another schema would be another start of the rule.
		of.err, of.elsewhere = fmt.Errorf("what it sets is not valid: %w", invalid.Err), true
	}
	return of
}

// addPart adds what one item of a patch sets in a target. A second item for the same
// target is put together with the first.
func (p *pass) addPart(now *contributions.Contribution, patch string, target types.NamespacedName, part *apply.Part) {
	switch before := now.Parts[target]; {
	case part == nil || now.Doubtful[target]:
		now.Doubtful[target] = true
		delete(now.Parts, target)
	case before == nil:
		now.Parts[target] = part
	default:
		merged, err := apply.Merge(nil, []*apply.Part{before, part})
		if err == nil && len(merged.Contradictions) > 0 {
			err = fmt.Errorf("two items set %s of %s to different values", merged.Contradictions[0].Path, shortName(target))
		}
		if err != nil {
			p.addPatchProblem(patch, problem{reason: reasonContradiction, stalled: true, elsewhere: true, err: err})
			now.Doubtful[target] = true
			delete(now.Parts, target)
			return
		}
		now.Parts[target] = merged.Part
	}
}

// summarizePatches adds the patches of which it is not known what they set.
func (p *pass) summarizePatches(stalled, moving *findings) {
	for _, patch := range p.outcome.Patches {
		message := "patch " + patch.ID + ": "
		if patch.Path != "" {
			message += patch.Path + ": "
		}
		switch message += patch.Message; patch.State {
		case rules.StateFailed:
			stalled.add(reasonEvaluation, message)
		case rules.StateWaiting:
			moving.add(waitingReason(patch.KindMissing), message)
		}
	}
}

func (p *pass) addPatchProblem(patch string, of problem) {
	of.subject = "patch " + patch
	p.problems = append(p.problems, p.told(of))
}

// targets lists the objects that an item of a patch is for: the one that it names, or
// those that its selector selects now. What comes into a selection or leaves it wakes
// the parent, as with a lookup.
func (p *pass) targets(plan patchPlan, target rules.Target) ([]types.NamespacedName, error) {
	if target.Name != "" {
		return []types.NamespacedName{{Namespace: target.Namespace, Name: target.Name}}, nil
	}
	found, _, err := p.look(plan.lookup, rules.Query{
		GVK: plan.GVK, Namespace: target.Namespace, AllNamespaces: target.AllNamespaces, Selector: target.Selector,
	})
	if err != nil {
		return nil, err
	}
	names := make([]types.NamespacedName, len(found))
	for i, object := range found {
		names[i] = keyOf("", object).Parent
	}
	return names, nil
}

// isInPlace tells whether what the parent sets in a target is there.
func (p *pass) isInPlace(plan patchPlan, target types.NamespacedName, part *apply.Part) bool {
	live, ok := p.monitors.Get(plan.informerFor(target.Namespace), target.Namespace, target.Name)
	return ok && apply.HoldsPatch(live, plan.manager, part)
}

// contributeUnknown says that nothing is known now of what the parent contributes:
// what it did before stays.
func (p *pass) contributeUnknown() {
	for id := range p.op.patches {
		p.addPatches(p.contributions.Set(p.op.contributing, p.key.Parent, id, &contributions.Contribution{Parent: contributorOf(p.parent), Open: true}))
	}
}

// dropContributions ends what a parent contributes that is gone, or that the rule is
// not for, as a pass of this operator found.
func (e *Engine) dropContributions(op *operator, k queue.Key) {
	e.addKeys(e.contributions.Drop(op.contributing, k.Parent))
}

// refillPause is how long the target of a patch waits for an informer that lists again.
const refillPause = 200 * time.Millisecond

// reconcilePatch brings what a patch sets in one target up to date: what all parents
// contribute to it, and nothing else.
func (e *Engine) reconcilePatch(ctx context.Context, k queue.Key) (verdict, error) {
	if k.IsSweep() {
		return e.sweep(ctx, k)
	}
	op := e.running.load().byID[k.Rule]
	switch {
	case op == nil:
		return waiting, nil // the rule's start comes here again
	case !e.ready(op) && e.contributions.HasBegun(op.contributing):
		e.queue.AddAfter(k, refillPause) // an informer lists again, and that is no start of the rule
		return later, nil
	case !e.ready(op):
		return waiting, nil
	}
	plan, ok := op.patches[k.Patch]
	if !ok {
		e.forgetKey(k)
		return settled, nil
	}
	now := e.options.Clock.Now()
	history, loop, rest := e.causes.take(k, now, e.options.RetryMax)
	if rest > 0 {
		e.queue.AddAfter(k, rest)
		return later, nil
	}
	if loop != nil {
		e.queue.AddAfter(k, loop.retreat.rest(now)+time.Millisecond) // the parents in it say so
	}
	saw, current := e.contributions.Collect(op.contributing, k)
	if !current {
		return waiting, nil // the start of the next operator comes here again
	}
	t := &patching{Engine: e, op: op, plan: plan, key: k, saw: saw, history: history}
	if len(t.saw.Parts) > 0 {
		t.follow()
	}
	came := t.runSafely(ctx)
	told := e.contributions.Finish(k, t.saw, came, t.left)
	for _, parent := range told {
		if t.did != nil {
			e.causes.hand(parent, t.did) // which may see the target before its event
		}
	}
	e.addKeys(told)
	if !e.contributions.Contributes(k) && came.err == nil {
		e.leaveTarget(k)
	}
	switch {
	case came.err == nil:
		return settled, nil
	case errors.Is(came.err, errNotNow), came.reason == reasonWaiting, came.reason == reasonHeld, came.reason == reasonFieldTaken,
		came.reason == reasonContested:
		return waiting, nil // for an event of the target, of its informer, or of a parent, or for the end of a pause
	case came.stalled, came.Passing(), came.expected():
		return again, nil // the parents are told
	default:
		return again, fmt.Errorf("patch %s: %w", k.Patch, came.err)
	}
}

// patching is one look at a target.
type patching struct {
	*Engine

	op   *operator
	plan patchPlan
	key  queue.Key
	saw  contributions.Collected
	// history is what led to the look, as far as it was rules.
	history *history
	// did is not nil where the look wrote: what follows from that.
	did *history
	// left are the problems of parents whose part is left out.
	left map[types.NamespacedName]problem
}

func (t *patching) name() string {
	return apply.Ref{
		Group: t.plan.GVK.Group, Kind: t.plan.GVK.Kind, Namespace: t.key.Parent.Namespace, Name: t.key.Parent.Name,
	}.String()
}

// follow has the target's events wake the key. It comes before the target is read.
func (t *patching) follow() {
	informer := t.plan.informerFor(t.key.Parent.Namespace)
	if t.plan.borrowed {
		t.borrowed.Use(t.key, informer)
	}
	s := readers.Subject{Informer: informer, Namespace: t.key.Parent.Namespace, Name: t.key.Parent.Name}
	t.readers.Add(t.key, s, labels.Everything())
}

// runSafely is run, with a panic as a problem: the look is to be ended in any case.
func (t *patching) runSafely(ctx context.Context) (came problem) {
	var err error
	defer func() {
		if err != nil {
			came = t.problem(err)
		}
	}()
	defer containPanic(&err)
	return t.run(ctx)
}

// run gives what is in the way; a problem without an error where nothing is.
func (t *patching) run(ctx context.Context) problem {
	if t.saw.Pending {
		return t.problem(errNotNow) // the end of the wave comes here again
	}
	together, err := apply.Merge(t.saw.Merged, t.saw.Parts)
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
		t.contested.forget(t.key)
	}
	switch {
	case err != nil:
		return t.problem(err)
	case live == nil && merged == nil:
		return problem{}
	case live == nil:
		return problem{subject: t.subject(), reason: reasonWaiting, err: fmt.Errorf("%s is not there yet", t.name())}
	case live.GetDeletionTimestamp() != nil && merged == nil:
		return problem{}
	case t.saw.Doubt != "" && apply.Shrinks(live, t.plan.manager, merged):
		return t.held(fmt.Sprintf("%s stays as it is, because it is not known what parent %s sets there; the conditions and Events of that parent say why", t.name(), t.saw.Doubt))
	}
	err = t.sync(ctx, apply.Patch{
		GVR: t.plan.kind.GVR, Object: live, Manager: t.plan.manager, Content: merged, Refuse: t.plan.Refuse, Keeps: t.keeps,
	})
	if err != nil {
		return t.problem(err)
	}
	if merged == nil {
		t.writer.ForgetPatch(live.GetUID(), t.plan.manager)
	}
	return problem{}
}

// live is the target as it is known; nil where it is not there. Where the patch is to
// be released, one that has left the informer's view is read.
func (t *patching) live(ctx context.Context, release bool) (*unstructured.Unstructured, error) {
	target := t.key.Parent
	informer := t.plan.informerFor(target.Namespace)
	if view := t.monitors.View(informer); view != nil {
		if live, ok := view.Get(target.Namespace, target.Name); ok {
			return live, nil
		}
	} else if !release {
		return nil, t.unread(informer)
	}
	if !release || t.plan.whole() {
		return nil, nil
	}
	return t.readTarget(ctx, t.plan.kind.GVR, target)
}

// unread says why an informer does not show the target yet.
func (t *patching) unread(informer monitor.Key) error {
	if err := t.monitors.Failure(informer); err != nil {
		return &unreadError{fmt.Errorf("cannot read %s: %w", informer.GVR.GroupResource(), err)}
	}
	return errNotNow // when it has filled, the key comes again
}

// errNotNow says that nothing is known of a target yet, and that what is comes soon.
var errNotNow = errors.New("it is being looked at for the first time")

// unreadError says that an informer has not filled; its event comes.
type unreadError struct{ err error }

func (e *unreadError) Error() string { return e.err.Error() }
func (e *unreadError) Unwrap() error { return e.err }

func (t *patching) subject() string { return "patch " + t.key.Patch }

func (t *patching) held(why string) problem {
	return problem{subject: t.subject(), reason: reasonHeld, elsewhere: true, err: errors.New(why)}
}

// problem sorts what went wrong into what it means for the parents.
func (t *patching) problem(err error) problem {
	p := problemOf(&write{err: err})
	p.subject, p.elsewhere = t.subject(), true
	if field, ok := errors.AsType[*apply.FieldHeldError](err); ok {
		p.reason, p.stalled, p.err = reasonFieldTaken, true, field
	}
	if unread, ok := errors.AsType[*unreadError](err); ok {
		p.reason, p.err = reasonWaiting, unread
	}
	if t.op.program.HasSecrets() {
		p.err = withoutValues(p.err)
	}
	return p
}

// leaveOut notes the parents whose part contradicts that of an older one.
func (t *patching) leaveOut(contradictions []apply.Contradiction) {
	t.left = make(map[types.NamespacedName]problem, len(contradictions))
	for _, c := range contradictions {
		t.left[t.saw.Parents[c.Part]] = problem{
			subject: t.subject(), reason: reasonContradiction, stalled: true, elsewhere: true,
			err: fmt.Errorf("%s: %s %s, which is older, sets %s to another value, so nothing is set there for this one",
				t.name(), t.op.parent.GVK.Kind, shortName(t.saw.Parents[c.Other]), c.Path),
		}
	}
}

// keeps says why a patch takes nothing from a manager: who has the field there would
// put it back, for ever.
func (t *patching) keeps(manager string) string {
	if manager == apply.Manager {
		return "a rule makes the object and sets the field; let that rule ignore it"
	}
	for id, op := range t.running.load().byID {
		patch, ok := strings.CutPrefix(manager, apply.PatchManagers(id))
		if !ok || manager == t.plan.manager {
			continue
		}
		if _, there := op.patches[patch]; there {
			return fmt.Sprintf("patch %s of rule %s sets it to something else", patch, op.name)
		}
	}
	return ""
}

func shortName(name types.NamespacedName) string {
	if name.Namespace == "" {
		return name.Name
	}
	return name.String()
}
