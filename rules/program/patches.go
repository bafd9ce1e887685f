package program

import (
	"cmp"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// renderPatches renders the patches. It comes after all children: a patch that reads a child which is not settled
// waits.
func (e *Evaluation) renderPatches(out *Result) {
	if len(e.prog.Patches) == 0 {
		return
	}
	out.Patches = make([]PatchResult, len(e.prog.Patches))
	for i, patch := range e.prog.Patches {
		out.Patches[i] = e.renderPatch(patch)
	}
}

func (e *Evaluation) renderPatch(patch *Patch) PatchResult {
	out := PatchResult{ID: patch.ID, State: StateApplied}
	if e.isLeftOut(patch.GVK, patch.Optional) { // like a child, without its when and its forEach
		out.State, out.Message = StateSkipped, e.missing[patch.GVK].Message
		return out
	}
	tuples, p := e.tuples(&patch.Body)
	if p != nil {
		out.Unknown = true
		out.stop(p)
		return out
	}
	var first *Problem
	skipped := 0
	for at, t := range tuples {
		p := e.session.Overdue()
		if p != nil {
			out.Unknown = true
		} else {
			var set, known bool
			if set, known, p = e.contribute(patch, e.scopeOf(&patch.Body, t, at), &out); !set && p == nil {
				skipped++
			}
			out.Unknown = out.Unknown || !known
		}
		if p.Outweighs(first) {
			first = p
		}
		if out.Unknown && p != nil && e.session.Late {
			break
		}
	}
	switch {
	case first != nil:
		out.stop(first)
	case skipped == len(tuples):
		out.State = StateSkipped
	}
	return out
}

func (o *PatchResult) stop(p *Problem) {
	o.State = StateFailed
	if p.Verdict == Waits {
		o.State = StateWaiting
	}
	o.Problem = *p
}

// contribute adds what one item sets. set is false if its when is false. known is false if the targets of the item are
// unknown.
func (e *Evaluation) contribute(patch *Patch, s *scope, out *PatchResult) (set, known bool, p *Problem) {
	holds, p := patch.When.Holds(s, "when")
	if p == nil && !holds {
		return false, true, nil
	}
	if missing := e.checkKind(patch.GVK); missing != nil {
		return true, false, cmp.Or(p, missing)
	}
	target, stopped := e.targetOf(patch, s)
	if stopped != nil {
		return true, false, cmp.Or(p, stopped)
	}
	var object *unstructured.Unstructured
	if p == nil {
		object, p = e.renderContribution(patch, s)
	}
	out.Contributions = append(out.Contributions, Contribution{Target: target, Object: object})
	return true, true, p
}

func (e *Evaluation) targetOf(patch *Patch, s *scope) (Target, *Problem) {
	if patch.Target == nil {
		return Target{Namespace: e.object.GetNamespace(), Name: e.object.GetName()}, nil
	}
	q, p := e.query(patch.Target, s)
	return q.Target, p
}

func (e *Evaluation) renderContribution(patch *Patch, s *scope) (*unstructured.Unstructured, *Problem) {
	fields, p := e.renderFields(patch.Template, s, "the template gives no fields")
	if p == nil {
		p = checkPatchFields(fields)
	}
	if p == nil {
		p = e.session.HoldObject(fields)
	}
	if p != nil {
		return nil, p.Under("template")
	}
	object := &unstructured.Unstructured{Object: fields}
	object.SetGroupVersionKind(patch.GVK)
	return object, nil
}
