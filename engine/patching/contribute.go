package patching

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"kanon.dev/kanon/engine/apply"
	"kanon.dev/kanon/engine/conditions"
	"kanon.dev/kanon/engine/feedback"
	"kanon.dev/kanon/engine/identity"
	"kanon.dev/kanon/engine/operator"
	"kanon.dev/kanon/engine/queue"
	"kanon.dev/kanon/rules/program"
)

// contributorOf returns what distinguishes the parents of a patch.
func contributorOf(parent *unstructured.Unstructured) contributor {
	return contributor{UID: parent.GetUID(), Created: parent.GetCreationTimestamp().Time}
}

// Contributor is the reconcile of a parent that contributes to patches.
type Contributor struct {
	Op     *operator.Operator
	Key    queue.Key
	Parent *unstructured.Unstructured
	// Provenance is the chain of rules that led to the reconcile.
	Provenance *feedback.Provenance
	// Select returns the objects that a query selects, and has the parent reconciled when an object enters or leaves
	// the selection.
	Select func(operator.Lookup, program.Query) ([]*unstructured.Unstructured, error)
}

// Contribute takes in what a parent contributes by patches, and returns the problems with it. awaited is true if some
// target has yet to be reconciled with it; the parent is enqueued when all have been.
func (p *Patches) Contribute(ctx context.Context, from Contributor, patches []program.PatchResult) (problems []conditions.Problem, awaited bool) {
	for _, rendered := range patches {
		planned, ok := from.Op.Patches[rendered.ID]
		if !ok {
			continue // its kind is missing
		}
		now, refused := p.contributionOf(ctx, from, planned, rendered)
		problems = append(problems, refused...)
		p.set(from, rendered.ID, now)
		inTargets, waits := p.ledgers.problemsOf(from.Op.Plan, from.Key.Parent, rendered.ID)
		for _, in := range inTargets {
			if in.problem.Reason != conditions.ReasonHeld || !p.isInPlace(planned, in.target, in.part) {
				problems = append(problems, in.problem)
			}
		}
		awaited = awaited || waits
	}
	return problems, awaited
}

// ContributeUnknown records that a parent's contributions are currently unknown. Its former contributions stay.
func (p *Patches) ContributeUnknown(from Contributor) {
	for id := range from.Op.Patches {
		p.set(from, id, &contribution{contributor: contributorOf(from.Parent), Open: true})
	}
}

// set enqueues the targets to which a parent's contribution changed.
func (p *Patches) set(from Contributor, patch string, now *contribution) {
	for _, k := range p.ledgers.set(from.Op.Plan, from.Key.Parent, patch, now) {
		p.Feedback.HandOver(from.Key, from.Provenance, k)
		p.Queue.Add(k)
	}
}

// contributionOf maps the rendered items of a patch to what is set in each target.
func (p *Patches) contributionOf(
	ctx context.Context, from Contributor, planned operator.Patch, rendered program.PatchResult,
) (now *contribution, problems []conditions.Problem) {
	now = &contribution{
		contributor: contributorOf(from.Parent), Open: rendered.Unknown,
		Parts: make(map[types.NamespacedName]*Part), Doubtful: make(map[types.NamespacedName]bool),
	}
	report := func(of conditions.Problem) {
		of.Subject = "patch " + rendered.ID
		problems = append(problems, of)
	}
	for _, item := range rendered.Contributions {
		targets, err := targets(from, planned, item.Target)
		if err != nil {
			now.Open = true
			report(problemOfSelection(err))
			continue
		}
		var part *Part
		if item.Object != nil {
			if part, err = p.Writer.Part(ctx, item.Object); err != nil {
				report(problemOfPart(err))
			}
		}
		for _, target := range targets {
			err := p.Writer.MayContribute(planned.GVK.GroupKind(), target, part)
			if err == nil && part.SetsLabel(program.LabelRules) && !from.Op.Program.AllowPrivileged {
				err = &program.PrivilegeError{Object: planned.GVK.Kind + " " + shortName(target), Because: "it would contain rules"}
			}
			if err != nil {
				// What others contribute to the target stays valid.
				report(conditions.OfWrite("", err))
			} else if err = addPart(now, target, part); err != nil {
				report(conditions.Problem{Reason: conditions.ReasonContradiction, Stalled: true, Elsewhere: true, Err: err})
			}
		}
	}
	return now, problems
}

// problemOfSelection says why the selected objects are unknown.
func problemOfSelection(err error) conditions.Problem {
	if of := conditions.OfWrite("", err); of.Reason == conditions.ReasonForbidden {
		return of
	}
	return conditions.Problem{Reason: conditions.ReasonWaiting, Err: err}
}

// problemOfPart says why a rendered item could not be turned into a part.
func problemOfPart(err error) conditions.Problem {
	of := conditions.OfWrite("", err)
	if invalid, ok := errors.AsType[*apply.InvalidError](err); ok {
		// Retrying is no use: if the schema changes, the rule starts again.
		of.Err, of.Elsewhere = fmt.Errorf("what it sets is not valid: %w", invalid.Err), true
	}
	return of
}

// addPart adds what one item of a patch sets in a target. If there is another item for the same target, the two are
// merged; the error says that they contradict each other.
func addPart(now *contribution, target types.NamespacedName, part *Part) error {
	before := now.Parts[target]
	if part == nil || now.Doubtful[target] {
		now.Doubtful[target] = true
		delete(now.Parts, target)
		return nil
	}
	if before != nil {
		merged, leftOut, err := Merge([]*Part{before, part})
		if err == nil && len(leftOut) > 0 {
			err = fmt.Errorf("two items set %s of %s to different values", leftOut[0].Path, shortName(target))
		}
		if err != nil {
			now.Doubtful[target] = true
			delete(now.Parts, target)
			return err
		}
		part = merged
	}
	now.Parts[target] = part
	return nil
}

// targets returns the objects that an item of a patch is for: the named one, or those that its selector currently
// selects.
func targets(from Contributor, planned operator.Patch, target program.Target) ([]types.NamespacedName, error) {
	if target.Name != "" {
		return []types.NamespacedName{{Namespace: target.Namespace, Name: target.Name}}, nil
	}
	found, err := from.Select(planned.Lookup, program.Query{GVK: planned.GVK, Target: target})
	if err != nil {
		return nil, err
	}
	names := make([]types.NamespacedName, len(found))
	for i, object := range found {
		names[i] = identity.Of(object).NamespacedName
	}
	return names, nil
}

// isInPlace reports whether a target already has what the parent sets there.
func (p *Patches) isInPlace(planned operator.Patch, target types.NamespacedName, part *Part) bool {
	live, ok := p.Monitors.Get(planned.InformerFor(target.Namespace), target.Namespace, target.Name)
	return ok && IsPatchInPlace(live, planned.Manager, part)
}

func shortName(name types.NamespacedName) string {
	if name.Namespace == "" {
		return name.Name
	}
	return name.String()
}
