package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"

	"kanon.dev/kanon/engine/apply"
	"kanon.dev/kanon/restmapping"
	"kanon.dev/kanon/rules"
	"kanon.dev/kanon/schemas"
)

// conclude says what came of the pass: in the parent's status, as an Event
// where something is in the way, and as the verdict.
func (p *pass) conclude(ctx context.Context) (verdict, error) {
	if err := ctx.Err(); err != nil {
		return again, err // what was broken off says nothing of the parent
	}
	if err := p.yieldStatus(ctx); err != nil {
		p.addStatusProblem(err)
	}
	state := p.summarize()
	if p.outcome.StatusHeld {
		p.keepStatus(ctx, state)
	} else if err := p.writeStatus(ctx, p.outcome.Status, state); err != nil {
		refused := p.addStatusProblem(err)
		state = p.summarize()
		if refused {
			p.keepStatus(ctx, state)
		}
	}
	p.notices.tell(p.key, p.parent, p.op.program.ConditionPrefix(), state)
	return p.verdict()
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
		p.problems = append(p.problems, problem{
			subject: strings.TrimPrefix(c.Path, "."), reason: reasonFieldTaken, stalled: true,
			err: fmt.Errorf("rule %s says something else there", p.nameOf(strings.TrimPrefix(c.Manager, statusManagers))),
		})
	}
	return nil
}

// isRival tells whether a field manager is that of another rule that runs. What a
// rule left behind that does not run any more may be taken.
func (p *pass) isRival(manager string) bool {
	id, ok := strings.CutPrefix(manager, statusManagers)
	return ok && id != p.op.id && p.running.load().byID[id] != nil
}

// isOther tells whether a field manager counts as another one's: not that of a
// rule that does not run.
func (p *pass) isOther(manager string) bool {
	return !strings.HasPrefix(manager, statusManagers) || p.isRival(manager)
}

// addStatusProblem notes that the status could not be written, and tells whether
// it is the content that was refused.
func (p *pass) addStatusProblem(err error) (refused bool) {
	problem := problemOf(&write{err: err})
	problem.subject = "status"
	p.problems = append(p.problems, problem)
	return problem.reason == reasonInvalid
}

// keepStatus writes the state beside what the rule said of the status before:
// what it says now was refused, or is not known.
func (p *pass) keepStatus(ctx context.Context, s state) {
	held, err := p.writer.HeldStatus(ctx, p.status(nil))
	if err == nil {
		err = p.writeStatus(ctx, held, s)
	}
	var invalid *apply.InvalidError
	if err != nil && !errors.As(err, &invalid) {
		p.addStatusProblem(err)
	}
}

// verdict sums the problems up. What goes away without an event asks for
// another try; what the user is not told of is returned for the log, unless it
// is part of the course of things.
func (p *pass) verdict() (verdict, error) {
	var errs []error
	v := settled
	if p.holdsPrune() {
		v = waiting
	}
	for _, problem := range p.problems {
		if problem.eventful() {
			v = max(v, waiting)
			continue
		}
		v = again
		if !problem.stalled && !problem.passing() && !problem.expected() {
			errs = append(errs, fmt.Errorf("%s: %w", problem.subject, problem.err))
		}
	}
	return v, errors.Join(errs...)
}

// summarize is the state of the parent, the gravest first.
func (p *pass) summarize() state {
	var stalled, moving findings
	for _, problem := range p.problems {
		switch {
		case problem.stalled:
			stalled.add(problem.reason, problem.String())
		case !problem.passing():
			moving.add(problem.reason, problem.String())
		}
	}
	for _, failed := range p.outcome.StatusFailed {
		stalled.add(reasonEvaluation, failed.Path+": "+failed.Message)
	}
	for _, node := range p.outcome.Nodes {
		message := "child " + node.ID + ": " + node.Message
		switch {
		case node.State == rules.StateFailed:
			stalled.add(reasonEvaluation, message)
		case node.State == rules.StateWaiting:
			moving.add(reasonWaiting, message)
		case node.State == rules.StateApplied && !node.Ready:
			moving.add(reasonProgressing, message)
		}
	}
	return newState(stalled, moving)
}

// writeStatus applies what the rule says of the parent's status, and the
// conditions, where they differ from what is there.
func (p *pass) writeStatus(ctx context.Context, said map[string]any, s state) error {
	content := maps.Clone(said)
	shape, err := p.conditionsShape(ctx)
	if err != nil {
		return err
	}
	if shape.ListMap {
		if content == nil {
			content = make(map[string]any, 1)
		}
		rendered, _ := content["conditions"].([]any) // the rule's
		content["conditions"] = p.conditions(rendered, s, shape)
	}
	return p.syncStatus(ctx, content)
}

// syncStatus brings the parent's status to a content; nil takes back all that
// the rule ever said in it.
func (p *pass) syncStatus(ctx context.Context, content map[string]any) error {
	result, err := p.writer.SyncStatus(ctx, p.status(runtime.DeepCopyJSON(content)))
	if err != nil {
		return err
	}
	if result.Action != apply.ActionNone {
		p.monitors.Observe(p.op.parentKey, result.Live)
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
	}
}

// conditionsShape is what conditions the parent's kind can take. A kind that no
// CustomResourceDefinition defines takes none: what they say of a Node, or of a
// Deployment, is not ours to say.
func (p *pass) conditionsShape(ctx context.Context) (schemas.ConditionsShape, error) {
	kind, _ := p.options.Mapper.Lookup(p.op.parent.GVK) // which knows the definition when the operator may not have
	if kind.Definition == (restmapping.Definition{}) {
		return schemas.ConditionsShape{}, nil
	}
	shape, err := p.options.Schemas.Conditions(ctx, p.op.parent.GVK)
	if err != nil {
		return schemas.ConditionsShape{}, fmt.Errorf("look up the schema of %s: %w", p.op.parent.GVK.Kind, err)
	}
	return shape, nil
}

// conditions are those that the rule renders and those of the state, as far as
// they are ours to write: a condition that another manager has, such as a second
// rule for the same kind of parent, is left to it. Events speak for both. What
// the rule renders can hold such a condition too, because a list that waits is
// the whole of what the parent has.
func (p *pass) conditions(rendered []any, s state, shape schemas.ConditionsShape) []any {
	prefix := p.op.program.ConditionPrefix()
	own := s.conditions(prefix, p.parent, p.options.Clock.Now())
	for _, item := range own {
		condition, _ := item.(map[string]any)
		if !p.op.parent.HasStatus {
			// Each write is a new generation there, which would ask for the next.
			delete(condition, "observedGeneration")
		}
		maps.DeleteFunc(condition, func(field string, _ any) bool { return !shape.Fields.Has(field) })
	}
	rendered = slices.DeleteFunc(slices.Clone(rendered), func(item any) bool { return isKanons(prefix, typeOf(item)) })
	return slices.DeleteFunc(append(rendered, own...), func(item any) bool {
		return apply.HeldByAnother(p.parent, p.op.statusManager(), typeOf(item), p.isOther)
	})
}
