package engine

import (
	"context"
	"reflect"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kanon.dev/kanon/engine/apply"
	"kanon.dev/kanon/engine/apply/mark"
	"kanon.dev/kanon/engine/conditions"
	"kanon.dev/kanon/engine/feedback"
	"kanon.dev/kanon/engine/identity"
	"kanon.dev/kanon/schemas"
)

// mergesConditions tells whether the rule's and Kanon's conditions are merged, item by item, into a list that the API server
// takes for one value: an apply would erase those of others. A rule whose status renders the list has it to itself.
func (p *pass) mergesConditions(shape schemas.ConditionsShape, rendered map[string]any) bool {
	_, has := rendered["conditions"]
	return shape.HasConditions && !shape.ListMap && !has
}

// mergeConditions brings the conditions of a pass into the parent's list, and takes out those of Kanon's that no longer hold.
func (p *pass) mergeConditions(ctx context.Context, own []any) error {
	parent, ok := p.monitors.Get(p.op.parentKey, p.parent.GetNamespace(), p.parent.GetName())
	if !ok || parent.GetUID() != p.parent.GetUID() {
		parent = p.parent // its informer does not show it
	}
	s := p.status(nil)
	s.Object = parent
	before, _, _ := unstructured.NestedSlice(parent.Object, "status", "conditions")
	after, overwritten := p.memory.List.Merge(before, own, conditions.Owner{
		Prefix: p.op.program.ConditionPrefix(), Types: p.op.program.ConditionTypes(), Wrote: apply.HoldsConditions(s),
		Yields: p.rivalWithConditions(schemas.ConditionsShape{HasConditions: true}) != "",
	})
	if len(before) == len(after) && reflect.DeepEqual(before, after) {
		return nil
	}
	lost := make([]feedback.Field, len(overwritten))
	for i, name := range overwritten {
		lost[i] = feedback.Field{Path: "status.conditions[type=" + name + "]"}
	}
	id, conflicts := identity.Of(parent), &p.memory.Conflicts
	if conflicts.Suppress(id, "", lost, p.started, p.engine.options.RetryMax) {
		of := &conflictError{Conflict: conflicts.Of(id, "", p.started), object: mark.RefOf(parent), nameOf: p.engine.running.managerName}
		p.requeueAfter(of.after())
		return of
	}
	defer p.begin(parent)()
	result, err := p.writer.PlaceConditions(ctx, s, after)
	if err != nil {
		return err
	}
	conflicts.Wrote(id, "", lost, p.started)
	p.observe(p.op.parentKey, result.Live)
	return nil
}

// releaseStatus takes back all that the rule ever wrote to the parent's status.
func (p *pass) releaseStatus(ctx context.Context) error {
	if err := p.syncStatus(ctx, nil); err != nil {
		return err
	}
	if shape, err := p.conditionsShape(ctx); err != nil || !p.mergesConditions(shape, nil) {
		return err
	}
	return p.mergeConditions(ctx, nil)
}
