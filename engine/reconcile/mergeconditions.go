package reconcile

import (
	"context"
	"reflect"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kanon.dev/kanon/engine/apply"
	"kanon.dev/kanon/engine/apply/mark"
	"kanon.dev/kanon/engine/conditions"
	"kanon.dev/kanon/engine/feedback"
	"kanon.dev/kanon/engine/identity"
	"kanon.dev/kanon/restmapping/openapi"
)

// mergesConditions reports whether the rule's and Kanon's conditions are merged, item by item, into a list that the API
// server treats as one value: an apply would erase those of others. If the rule's status renders the list, the whole
// list is the rule's.
func (s *report) mergesConditions(shape openapi.ConditionsShape, rendered map[string]any) bool {
	_, has := rendered["conditions"]
	return shape.HasConditions && !shape.ListMap && !has
}

// mergeConditions writes the conditions of a pass to the parent's list, and removes those of Kanon's that no longer
// hold.
func (s *report) mergeConditions(ctx context.Context, own []any) error {
	parent, ok := s.p.r.Monitors.Get(s.p.op.ParentKey, s.p.parent.GetNamespace(), s.p.parent.GetName())
	if !ok || parent.GetUID() != s.p.parent.GetUID() {
		parent = s.p.parent // the informer does not show it
	}
	status := s.status(nil)
	status.Object = parent
	before, _, _ := unstructured.NestedSlice(parent.Object, "status", "conditions")
	after, overwritten := s.p.memory.List.Merge(before, own, conditions.Owner{
		Prefix: s.p.op.Program.ConditionPrefix, Types: s.p.op.Program.ConditionTypes(), Wrote: apply.OwnsConditions(status),
		Yields: s.rivalWithConditions(openapi.ConditionsShape{HasConditions: true}) != "",
	})
	if len(before) == len(after) && reflect.DeepEqual(before, after) {
		return nil
	}
	lost := make([]feedback.Field, len(overwritten))
	for i, name := range overwritten {
		lost[i] = feedback.Field{Path: "status.conditions[type=" + name + "]"}
	}
	id, conflicts := identity.Of(parent), &s.p.memory.Conflicts
	if conflicts.Suppress(id, "", lost, s.p.started, s.p.r.RetryMax) {
		of := &conditions.FieldConflictError{Conflict: conflicts.Of(id, "", s.p.started), Object: mark.RefOf(parent), NameOf: func(manager string) string { return s.p.r.Running.ManagerFor(s.p.op, manager) }}
		s.p.requeueAfter(of.After())
		return of
	}
	defer s.p.beginWrite(parent)()
	live, err := s.p.r.Statuses.PlaceConditions(ctx, status, after)
	if err != nil {
		return err
	}
	conflicts.Wrote(id, "", lost, s.p.started)
	s.p.observe(s.p.op.ParentKey, live)
	return nil
}
