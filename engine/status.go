package engine

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"kanon.dev/kanon/engine/apply"
	"kanon.dev/kanon/engine/conditions"
	"kanon.dev/kanon/restmapping"
	"kanon.dev/kanon/rules"
	"kanon.dev/kanon/schemas"
)

// conclude says what came of the pass: in the parent's status, as an Event
// where something is in the way, and as the verdict.
func (p *pass) conclude(ctx context.Context) outcome {
	if err := ctx.Err(); err != nil {
		return outcome{verdict: again, err: err} // what was broken off says nothing of the parent
	}
	if p.reader.incomplete {
		return p.result().atLeast(waiting)
	}
	if err := p.yieldStatus(ctx); err != nil {
		p.addStatusProblem(err)
	}
	if err := p.checkStatusLoop(ctx); err != nil {
		p.addStatusProblem(err)
	}
	summary := p.summarize()
	if p.outcome.StatusHeld {
		p.keepStatus(ctx, summary)
	} else if err := p.writeStatus(ctx, p.outcome.Status, summary); err != nil {
		refused := p.addStatusProblem(err)
		summary = p.summarize()
		if refused {
			p.keepStatus(ctx, summary)
		}
	}
	if !slices.ContainsFunc(p.problems, conditions.Problem.IsTransient) {
		p.emitOfRule() // else the next reconcile knows better, and comes soon
	}
	p.emitSummary(ctx, summary)
	return p.result()
}

// yieldStatus leaves to other rules that run what they say in the parent's status
// with other values.
func (p *pass) yieldStatus(ctx context.Context) error {
	said, contested, err := p.writer.Yield(ctx, p.status(p.outcome.Status), p.isRival)
	if err != nil {
		return err
	}
	p.outcome.Status = said
	for _, c := range contested {
		p.problems = append(p.problems, conditions.Problem{
			Subject: strings.TrimPrefix(c.Path, "."), Reason: conditions.ReasonFieldTaken, Stalled: true,
			Err: fmt.Errorf("rule %s says something else there", p.engine.running.nameOf(strings.TrimPrefix(c.Manager, statusManagers))),
		})
	}
	return nil
}

// isRival tells whether a field manager is that of another rule that runs. What a
// rule left behind that does not run any more may be taken.
func (p *pass) isRival(manager string) bool {
	id, ok := strings.CutPrefix(manager, statusManagers)
	if !ok || id == p.op.id {
		return false
	}
	rival := p.engine.running.load().byID[id]
	return rival != nil && rival.removal == nil
}

// isOther tells whether a field manager counts as another one's: not that of a
// rule that does not run.
func (p *pass) isOther(manager string) bool {
	return !strings.HasPrefix(manager, statusManagers) || p.isRival(manager)
}

// addStatusProblem notes that the status could not be written, and tells whether
// it is the content that was refused.
func (p *pass) addStatusProblem(err error) (refused bool) {
	problem := p.redacted(conditions.OfWrite("status", err))
	p.problems = append(p.problems, problem)
	return problem.Reason == conditions.ReasonInvalid
}

// keepStatus writes the state beside what the rule said of the status before:
// what it says now was refused, or is not known.
func (p *pass) keepStatus(ctx context.Context, s conditions.Summary) {
	held, err := p.writer.HeldStatus(ctx, p.status(nil))
	if err == nil {
		err = p.writeStatus(ctx, held, s)
	}
	if err != nil && !conditions.IsInvalid(err) {
		p.addStatusProblem(err)
	}
}

// result is the outcome of the reconcile, by what it found so far.
func (p *pass) result() outcome {
	out := outcomeOf(p.problems)
	if p.holdsPrune() {
		out = out.atLeast(waiting)
	}
	if p.evaluation != nil && p.evaluation.OutOfTime() {
		out = out.atLeast(again) // no event tells when a busy machine is not busy any more
	}
	return out
}

// summarize sums up what the pass has found so far.
func (p *pass) summarize() conditions.Summary {
	return conditions.Summarize(slices.Concat(p.problems, p.pending), p.outcome, conditions.Kept(p.kept))
}

// writeStatus applies what the rule says of the parent's status, and the
// conditions, where they differ from what is there.
func (p *pass) writeStatus(ctx context.Context, said map[string]any, s conditions.Summary) error {
	content := maps.Clone(said)
	shape, err := p.conditionsShape(ctx)
	if err != nil {
		return err
	}
	p.explainConditions(shape, content)
	if shape.ListMap {
		if content == nil {
			content = make(map[string]any, 1)
		}
		rendered, _ := content["conditions"].([]any) // the rule's
		delete(content, "conditions")
		if list := p.conditions(rendered, s, shape); len(list) > 0 { // nobody can own an empty list
			content["conditions"] = list
		}
	}
	if err := p.syncStatus(ctx, content); err != nil || !p.mergesConditions(shape, content) {
		return err
	}
	return p.mergeConditions(ctx, p.conditions(nil, s, shape))
}

// syncStatus brings the parent's status to a content; nil takes back all that
// the rule ever said in it.
func (p *pass) syncStatus(ctx context.Context, content map[string]any) error {
	defer p.begin(p.parent)()
	result, err := p.writer.SyncStatus(ctx, p.status(runtime.DeepCopyJSON(content)))
	if err != nil {
		return err
	}
	if result.Action != apply.ActionNone {
		p.finalizer.seen = true
		p.observe(p.op.parentKey, result.Live)
		if content != nil && !p.op.inView(result.Live) { // it left meanwhile
			p.engine.parents.SetLeft(p.key, true)
			p.requeueAfter(atOnce)
		}
		if p.memory != nil {
			p.memory.StatusLoop.Wrote(p.changed)
		}
	}
	return nil
}

// status is a content of the parent's status, as the writer takes it.
func (p *pass) status(content map[string]any) apply.Status {
	return apply.Status{
		GVR:         p.op.parent.GVR,
		Object:      p.parent,
		Manager:     p.op.statusManager(),
		Content:     content,
		Subresource: p.op.parent.HasStatus,
		Exact:       p.op.program.ReadsStatus(),
	}
}

// conditionsShape is what conditions the parent's kind can take. A kind that no
// CustomResourceDefinition defines takes none: what they say of a Node, or of a
// Deployment, is not ours to say.
func (p *pass) conditionsShape(ctx context.Context) (schemas.ConditionsShape, error) {
	if p.isBuiltIn() {
		return schemas.ConditionsShape{}, nil
	}
	shape, err := p.schemas.Conditions(ctx, p.op.parent.GVK)
	if err != nil {
		return schemas.ConditionsShape{}, fmt.Errorf("look up the schema of %s: %w", p.op.parent.GVK.Kind, err)
	}
	return shape, nil
}

// isBuiltIn tells whether no CustomResourceDefinition defines the parent's kind.
// The mapper knows the definition when the operator may not have yet.
func (p *pass) isBuiltIn() bool {
	kind, _ := p.mapper.Lookup(p.op.parent.GVK)
	return kind.Definition == (restmapping.Definition{})
}

// conditions are those of the rule, in its conditions or its status, as far as no other
// manager has them, and those of the state: all of them or, where they are another's,
// none. Events speak for both. What the rule renders can hold such a condition too, because a
// list that waits is the whole of what the parent has.
func (p *pass) conditions(rendered []any, s conditions.Summary, shape schemas.ConditionsShape) []any {
	prefix, now := p.op.program.ConditionPrefix(), p.cluster.now()
	isTheirs := func(item any) bool {
		return apply.HeldByAnother(p.parent, p.op.statusManager(), p.isOther, conditions.TypeOf(item))
	}
	own := slices.DeleteFunc(conditions.OfRule(p.outcome.Conditions, p.parent, now), isTheirs)
	if p.yields = p.yieldsConditions(shape); !p.yields {
		own = append(own, s.Conditions(prefix, p.parent, now)...)
	}
	for _, item := range own {
		condition, _ := item.(map[string]any)
		if !p.op.parent.HasStatus {
			// Each write is a new generation there, which would ask for the next.
			delete(condition, "observedGeneration")
		}
		maps.DeleteFunc(condition, func(field string, _ any) bool { return !shape.Fields.Has(field) })
	}
	rendered = slices.DeleteFunc(slices.Clone(rendered), func(item any) bool {
		return conditions.IsKanons(prefix, conditions.TypeOf(item)) || isTheirs(item) ||
			slices.ContainsFunc(p.outcome.Conditions, func(c rules.Condition) bool { return c.Type == conditions.TypeOf(item) })
	})
	return append(rendered, own...)
}

// explainConditions says once for each revision of a rule why conditions are not
// written that somebody may wait for: the rule's own, or Kanon's on a kind whose
// schema has conditions.
func (p *pass) explainConditions(shape schemas.ConditionsShape, said map[string]any) {
	rule := p.rivalWithConditions(shape)
	written := shape.ListMap || p.mergesConditions(shape, said)
	if rule == "" && (written || len(p.outcome.Conditions) == 0 && !shape.HasConditions) || p.op.explained.Swap(true) {
		return
	}
	kind := p.op.parent.GVK.Kind
	why := "the schema of its status has no conditions"
	switch {
	case written:
		why = "rule " + rule + " has the same conditionPrefix, and its conditions are there"
	case shape.HasConditions:
		why = "its conditions are not a list-map by type (x-kubernetes-list-type: map), and the rule's status says the list as a whole"
	case p.isBuiltIn():
		why = "the conditions of a kind that is built into Kubernetes are its controllers' to say"
	}
	p.recorder.Eventf(p.parent, corev1.EventTypeWarning, conditions.ReasonNoConditions,
		"rule %s does not write its conditions to objects of kind %s: %s; Events say what is in the way", p.op.name, kind, why)
}
