package engine

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"kanon.dev/kanon/engine/apply"
	"kanon.dev/kanon/engine/apply/patchset"
	"kanon.dev/kanon/engine/conditions"
	"kanon.dev/kanon/engine/contributions"
	"kanon.dev/kanon/engine/operator"
	"kanon.dev/kanon/engine/plan"
	"kanon.dev/kanon/engine/queue"
	"kanon.dev/kanon/rules"
)

// beginPatches opens the wave of a rule that starts: its targets are left alone until
// each parent was reconciled. What the rule patched before, as the managedFields of the
// targets show, is reconciled then.
func (e *Engine) beginPatches(op *operator.Operator) {
	if e.contributions.HasBegun(op.Contributing) {
		return
	}
	e.retirePatches(op.ID, op)
	found := make(queue.Keys)
	for id, plan := range op.Patches {
		if !plan.IsWhole() {
			found[queue.Key{Rule: op.ID, Patch: id}] = true // others are looked for
		}
		if plan.Borrowed {
			continue
		}
		for _, object := range e.monitors.Heads(plan.Informer) {
			if patchset.HasUnusedPrevious(object) {
				found[queue.Key{Rule: op.ID, Patch: id, Parent: keyOf("", object).Parent}] = true
			}
			for _, patched := range patchset.Patched(object, op.ID) {
				if op.Patches[patched].Informer == plan.Informer {
					found[queue.Key{Rule: op.ID, Patch: patched, Parent: keyOf("", object).Parent}] = true
				}
			}
		}
	}
	for _, k := range e.remembered(op.ID) {
		if k.Patch != "" {
			e.queue.AddPatient(k) // to be followed still, or not any more
		}
	}
	parents := make(map[types.NamespacedName]contributions.Parent)
	for _, parent := range e.monitors.Heads(op.ParentKey) {
		parents[keyOf(op.ID, parent).Parent] = contributorOf(parent)
	}
	for _, k := range e.contributions.Begin(op.Contributing, parents, found) {
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
		plan, ok := p.op.Patches[outcome.ID]
		if !ok {
			continue // its kind is missing
		}
		now := p.contribution(ctx, plan, outcome)
		p.addPatches(p.engine.contributions.Set(p.op.Contributing, p.key.Parent, outcome.ID, now))
		fares, awaited := p.engine.contributions.Fares(p.op.Contributing, p.key.Parent, outcome.ID)
		for _, fare := range fares {
			if fare.Problem.Reason != conditions.ReasonHeld || !p.isInPlace(plan, fare.Target, fare.Part) {
				p.add(p.redacted(fare.Problem))
			}
		}
		soon = soon || awaited
	}
	return soon
}

// contribution makes of what was rendered what is set in each target.
func (p *pass) contribution(ctx context.Context, plan plan.Patch, outcome rules.PatchOutcome) *contributions.Contribution {
	now := &contributions.Contribution{
		Parent: contributorOf(p.parent), Open: outcome.Unknown,
		Parts: make(map[types.NamespacedName]*patchset.Part), Doubtful: make(map[types.NamespacedName]bool),
	}
	for _, item := range outcome.Contributions {
		targets, err := p.targets(plan, item.Target)
		if err != nil {
			now.Open = true
			p.addPatchProblem(outcome.ID, conditions.Problem{Reason: conditions.ReasonWaiting, Err: err})
			continue
		}
		var part *patchset.Part
		if item.Object != nil {
			if part, err = p.writer.Part(ctx, item.Object); err != nil {
				p.addPatchProblem(outcome.ID, problemOfPart(err))
			}
		}
		for _, target := range targets {
			if err := p.writer.MayContribute(plan.GVK.GroupKind(), target, part); err != nil {
				// What others contribute to the target is not refused because of it.
				p.addPatchProblem(outcome.ID, conditions.OfWrite("", err))
				continue
			}
			p.addPart(now, outcome.ID, target, part)
		}
	}
	return now
}

// problemOfPart is why what is set is not known although it was rendered.
func problemOfPart(err error) conditions.Problem {
	of := conditions.OfWrite("", err)
	if invalid, ok := errors.AsType[*apply.InvalidError](err); ok {
		// Another schema would be another start of the rule.
		of.Err, of.Elsewhere = fmt.Errorf("what it sets is not valid: %w", invalid.Err), true
	}
	return of
}

// addPart adds what one item of a patch sets in a target. A second item for the same
// target is put together with the first.
func (p *pass) addPart(now *contributions.Contribution, patch string, target types.NamespacedName, part *patchset.Part) {
	switch before := now.Parts[target]; {
	case part == nil || now.Doubtful[target]:
		now.Doubtful[target] = true
		delete(now.Parts, target)
	case before == nil:
		now.Parts[target] = part
	default:
		merged, err := patchset.Merge(nil, []*patchset.Part{before, part})
		if err == nil && len(merged.Contradictions) > 0 {
			err = fmt.Errorf("two items set %s of %s to different values", merged.Contradictions[0].Path, shortName(target))
		}
		if err != nil {
			p.addPatchProblem(patch, conditions.Problem{Reason: conditions.ReasonContradiction, Stalled: true, Elsewhere: true, Err: err})
			now.Doubtful[target] = true
			delete(now.Parts, target)
			return
		}
		now.Parts[target] = merged.Part
	}
}

func (p *pass) addPatchProblem(patch string, of conditions.Problem) {
	of.Subject = "patch " + patch
	p.add(p.redacted(of))
}

// targets lists the objects that an item of a patch is for: the one that it names, or
// those that its selector selects now. What enters or leaves the selection enqueues
// the parent, as with a lookup.
func (p *pass) targets(plan plan.Patch, target rules.Target) ([]types.NamespacedName, error) {
	if target.Name != "" {
		return []types.NamespacedName{{Namespace: target.Namespace, Name: target.Name}}, nil
	}
	found, _, err := p.reader.look(plan.Lookup, rules.Query{
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
func (p *pass) isInPlace(plan plan.Patch, target types.NamespacedName, part *patchset.Part) bool {
	live, ok := p.monitors.Get(plan.InformerFor(target.Namespace), target.Namespace, target.Name)
	return ok && patchset.HoldsPatch(live, plan.Manager, part)
}

// contributeUnknown says that nothing is known now of what the parent contributes:
// what it did before stays.
func (p *pass) contributeUnknown() {
	for id := range p.op.Patches {
		p.addPatches(p.engine.contributions.Set(p.op.Contributing, p.key.Parent, id, &contributions.Contribution{Parent: contributorOf(p.parent), Open: true}))
	}
}

// dropContributions ends what a parent contributes that is gone, or that the rule is
// not for, as a pass of this operator found.
func (e *Engine) dropContributions(op *operator.Operator, k queue.Key) {
	e.addKeys(e.contributions.Drop(op.Contributing, k.Parent))
}

func shortName(name types.NamespacedName) string {
	if name.Namespace == "" {
		return name.Name
	}
	return name.String()
}
