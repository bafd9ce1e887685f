package simulation

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime"

	"kanon.dev/kanon/engine/conditions"
	"kanon.dev/kanon/engine/ending"
	"kanon.dev/kanon/engine/identity"
	"kanon.dev/kanon/engine/request"
	"kanon.dev/kanon/offline/overlay"
	"kanon.dev/kanon/offline/preview"
	"kanon.dev/kanon/rules/program"
	"kanon.dev/kanon/rules/program/parentstatus"
)

var errNoParent = errors.New("the parent does not exist any more")

// reconcile evaluates the rule once and writes the result. It reports whether anything changed.
func (s *Simulation) reconcile(ctx context.Context) (changed bool) {
	s.reevaluateAt = time.Time{}
	switch {
	case s.parent == nil, request.IsSuspended(s.parent):
		s.last = nil
		return false
	case s.parent.GetDeletionTimestamp() != nil:
		return s.cleanUp(ctx)
	}
	p := s.evaluate(ctx)
	switch {
	case p.Unmatched != "" && p.Failed():
		return false // whether the rule is for the parent is unknown
	case p.Unmatched != "":
		return s.release()
	}
	rendered, changed := s.apply(p.Nodes)
	changed = s.prune(p, rendered) || changed
	changed = s.finalizeIfNeeded() || changed
	changed = s.contribute(p.Result.Patches) || changed
	s.emit(p.Result.Events)
	changed = s.writeStatus(p) || changed
	if p.Result.Deletion == program.DeletionOn {
		s.delete(s.parent)
		return true
	}
	return changed
}

// evaluate evaluates the rule, and records when time alone requires another evaluation.
func (s *Simulation) evaluate(ctx context.Context) *preview.Preview {
	p := s.preview(ctx)
	s.last = p
	if p.Unmatched != "" {
		return p
	}
	s.matched = true
	s.reevaluateAt = p.Result.ReevaluateAt
	if after := p.Result.RequeueAfter; after > 0 && (s.reevaluateAt.IsZero() || s.now.Add(after).Before(s.reevaluateAt)) {
		s.reevaluateAt = s.now.Add(after)
	}
	return p
}

// preview evaluates the rule with the current objects.
func (s *Simulation) preview(ctx context.Context) *preview.Preview {
	in := preview.Input{
		Program: s.options.Program, Parent: s.patched(s.parent), Now: s.now, Schema: s.options.Schema, HasStatus: s.options.HasStatus, Namespace: namespace,
		Check: s.options.Check, CheckStatus: s.options.CheckStatus, Status: s.status,
		Stepwise: true, Replaced: slices.Collect(maps.Values(s.replaced)),
	}
	for _, object := range sorted(s.others) {
		in.With = append(in.With, s.patched(object))
	}
	for _, c := range s.sortedChildren() {
		in.Children = append(in.Children, c.Child)
	}
	return preview.Evaluate(ctx, in)
}

// apply writes the rendered objects, batch by batch. It returns the objects that are not to be pruned, and whether
// anything changed.
func (s *Simulation) apply(nodes []preview.Node) (rendered map[identity.ID]bool, changed bool) {
	rendered = map[identity.ID]bool{}
	nodes = slices.Clone(nodes)
	slices.SortStableFunc(nodes, func(a, b preview.Node) int { return cmp.Compare(a.Batch, b.Batch) })
	for _, node := range nodes {
		for _, object := range node.Objects {
			rendered[identity.Of(object.Unstructured)] = true
			changed = s.applyOne(node.ID, object) || changed
		}
		for _, kept := range node.Kept {
			rendered[identity.Of(kept.Object)] = true
		}
		for _, refused := range node.Refused {
			rendered[identity.Of(refused.Object)] = true
		}
	}
	return rendered, changed
}

func (s *Simulation) applyOne(node string, object preview.Object) (changed bool) {
	id := identity.Of(object.Unstructured)
	existing, after := s.children[id], object.Live.DeepCopy()
	if existing != nil && object.Recreation == preview.RecreateNow { // the next reconcile creates it, unless a finalizer keeps it
		s.recreated = append(s.recreated, id)
		if object.KeepsGenerated {
			s.replaced[id] = existing.Object.DeepCopy()
		}
		s.delete(existing.Object)
		return true
	}
	delete(s.replaced, id)
	if existing == nil {
		created := &child{Child: preview.Child{Node: node, Object: after, Rendered: object.Unstructured}, ending: object.Ending}
		s.mark(created, after)
		s.complete(after)
		s.touch(after)
		if s.others[id] != nil {
			s.updated = append(s.updated, id) // adopted
		} else if !slices.Contains(s.recreated, id) {
			s.made = append(s.made, id)
		}
		delete(s.others, id)
		s.children[id] = created
		return true
	}
	existing.Node, existing.ending, existing.Rendered = node, object.Ending, object.Unstructured
	before := existing.Object
	s.mark(existing, after)
	if s.options.Default != nil {
		s.options.Default(after)
	}
	if equality.Semantic.DeepEqual(before.Object, after.Object) {
		return false
	}
	s.noteGeneration(before, after)
	s.touch(after)
	s.updated = append(s.updated, id)
	existing.Object = after
	return true
}

func (s *Simulation) emit(rendered []parentstatus.Event) {
	s.events = append(s.events, s.emitted.Due(rendered, false)...)
}

// writeStatus writes the status that the rule renders, and Kanon's conditions.
func (s *Simulation) writeStatus(p *preview.Preview) (changed bool) {
	out := p.Result
	before, _ := s.parent.Object["status"].(map[string]any)
	after := map[string]any{}
	if before != nil {
		after = runtime.DeepCopyJSON(before)
	}
	own := conditions.OfRule(out.Conditions, s.parent, s.now)
	if s.takesConditions(s.parent) {
		own = append(s.summary(p).Conditions(s.options.Program.ConditionPrefix, s.parent, s.now), own...)
	}
	rendered := s.status
	if !out.KeepStatus && p.StatusRefused == nil {
		rendered = out.Status
	}
	s.lay(s.parent, map[string]any{"status": after}, map[string]any{"status": s.status}, map[string]any{"status": rendered})
	s.status = rendered
	s.setConditions(after, rendered, own)
	if len(after) == 0 && before == nil || equality.Semantic.DeepEqual(before, after) {
		return false
	}
	s.parent.Object["status"] = after
	s.touch(s.parent)
	return true
}

// setConditions writes the rule's conditions into a status, and keeps those of others.
func (s *Simulation) setConditions(status, rendered map[string]any, own []any) {
	fromStatus, _ := rendered["conditions"].([]any)
	own = append(own, fromStatus...)
	if len(own) == 0 {
		return
	}
	types := s.options.Program.ConditionTypes()
	for _, item := range own {
		types = append(types, conditions.TypeOf(item))
	}
	others, _ := conditions.Without(status, s.options.Program.ConditionPrefix, types)["conditions"].([]any)
	status["conditions"] = append(own, others...)
}

// summary is the state of the rule for the parent, as its conditions report it.
func (s *Simulation) summary(p *preview.Preview) conditions.Summary {
	var problems []conditions.Problem
	for _, node := range p.Nodes {
		for _, refused := range node.Refused {
			problems = append(problems, problemOf("child "+node.ID, refused.Err))
		}
	}
	if p.StatusRefused != nil {
		problems = append(problems, problemOf("status", p.StatusRefused))
	}
	if f := p.Result.Finalization; s.parent.GetDeletionTimestamp() != nil && f.Waits != "" {
		waits := conditions.Problem{Subject: "spec.finalize", Reason: conditions.ReasonFinalizing, Err: errors.New(f.Waits), Stalled: f.Failed}
		if f.Timeout > 0 && !s.now.Before(s.parent.GetDeletionTimestamp().Add(f.Timeout)) {
			waits.Reason, waits.Stalled = conditions.ReasonFinalizeTimeout, true
		}
		problems = append(problems, waits)
	}
	return conditions.Summarize(problems, p.Result, "")
}

// problemOf is the problem that a refused write means for the parent. A refusal that engine/conditions does not know
// comes from Options.Check or CheckStatus and is about the content of the object.
func problemOf(subject string, err error) conditions.Problem {
	problem := conditions.OfWrite(subject, err)
	if problem.Reason == conditions.ReasonWrite {
		problem.Reason, problem.Stalled = conditions.ReasonInvalid, true
	}
	return problem
}

// release removes what the rule wrote to and for a parent that it no longer selects.
func (s *Simulation) release() (changed bool) {
	changed = s.pruneAllBut(nil)
	changed = s.setFinalizer(slices.ContainsFunc(s.tracked(), func(c ending.Child) bool { return !c.IsDeleting() })) || changed
	if status, _ := s.parent.Object["status"].(map[string]any); s.status != nil || s.matched && status != nil {
		overlay.Apply(nil, status, s.status, nil)
		status = conditions.Without(status, s.options.Program.ConditionPrefix, s.options.Program.ConditionTypes())
		s.parent.Object["status"] = status
		s.touch(s.parent)
		s.status, s.matched, changed = nil, false, true
	}
	if len(s.patches) > 0 {
		s.patches, changed = nil, true
	}
	return changed
}
