package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"

	"kanon.dev/kanon/engine/apply"
	"kanon.dev/kanon/rules"
)

// conclude says what came of the pass: in the parent's status, as an Event
// where something is in the way, and as the verdict.
func (p *pass) conclude(ctx context.Context) (verdict, error) {
	state := p.summarize()
	if err := p.writeStatus(ctx, state); err != nil {
		w := problemOf(&write{err: err})
		w.subject = "status"
		p.problems = append(p.problems, w)
		state = p.summarize()
	}
	p.notices.tell(p.key, p.parent, state)
	return p.verdict()
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
		if !problem.stalled && !problem.passing() && problem.reason != reasonTerminating {
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
func (p *pass) writeStatus(ctx context.Context, s state) error {
	content := maps.Clone(p.outcome.Status)
	shape, err := p.options.Schemas.Conditions(ctx, p.op.parent.GVK)
	if err != nil {
		return fmt.Errorf("look up the schema of %s: %w", p.op.parent.GVK.Kind, err)
	}
	if shape.ListMap {
		if content == nil {
			content = make(map[string]any, 1)
		}
		own, _ := content["conditions"].([]any) // the rule's
		content["conditions"] = append(own, p.conditions(s)...)
	}
	if content == nil {
		return nil
	}
	result, err := p.writer.SyncStatus(ctx, apply.Status{
		GVR:         p.op.parent.GVR,
		Object:      p.parent,
		Manager:     p.op.statusManager(),
		Content:     runtime.DeepCopyJSON(content),
		Subresource: p.op.parent.HasStatus,
	})
	if err != nil {
		return err
	}
	if result.Action != apply.ActionNone {
		p.monitors.Observe(p.op.parentKey, result.Live)
	}
	return nil
}

// conditions are those of the state that are ours to write: a condition that
// another manager has, such as a second rule for the same kind of parent, is
// left to it. Events speak for both.
func (p *pass) conditions(s state) []any {
	prefix := p.op.program.ConditionPrefix()
	return slices.DeleteFunc(s.conditions(prefix, p.parent, p.options.Clock.Now()), func(item any) bool {
		condition, _ := item.(map[string]any)
		conditionType, _ := condition["type"].(string)
		return apply.HeldByAnother(p.parent, p.op.statusManager(), conditionType)
	})
}
