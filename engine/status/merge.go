package status

import (
	"context"
	"reflect"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kanon.dev/kanon/engine/apply/mark"
	"kanon.dev/kanon/engine/apply/statuswriter"
	"kanon.dev/kanon/engine/conditions"
	"kanon.dev/kanon/engine/feedback"
	"kanon.dev/kanon/engine/identity"
	"kanon.dev/kanon/kinds/schemas"
)

// mergesConditions reports whether the rule's and Kanon's conditions are merged, item by item, into a list that the API
// server treats as one value: an apply would erase those of others. If the rule's status renders the list, the whole
// list is the rule's.
func (s *Report) mergesConditions(shape schemas.ConditionsShape, rendered map[string]any) bool {
	_, has := rendered["conditions"]
	return shape.HasConditions && !shape.ListMap && !has
}

// mergeConditions writes the conditions of a pass to the parent's list, and removes those of Kanon's that no longer
// hold.
func (s *Report) mergeConditions(ctx context.Context, own []any) error {
	parent, ok := s.Monitors.Get(s.Op.ParentKey, s.Object.GetNamespace(), s.Object.GetName())
	if !ok || parent.GetUID() != s.Object.GetUID() {
		parent = s.Object // the informer does not show it
	}
	status := s.status(nil)
	status.Object = parent
	before, _, _ := unstructured.NestedSlice(parent.Object, "status", "conditions")
	after, overwritten := s.Memory.List.Merge(before, own, conditions.Owner{
		Prefix: s.Op.Program.ConditionPrefix, Types: s.Op.Program.ConditionTypes(), Wrote: statuswriter.OwnsConditions(status),
		Yields: s.rivalWithConditions(schemas.ConditionsShape{HasConditions: true}) != "",
	})
	if len(before) == len(after) && reflect.DeepEqual(before, after) {
		return nil
	}
	lost := make([]feedback.Field, len(overwritten))
	for i, name := range overwritten {
		lost[i] = feedback.Field{Path: "status.conditions[type=" + name + "]"}
	}
	id, conflicts := identity.Of(parent), &s.Memory.Conflicts
	if conflicts.Suppress(id, "", lost, s.Started, s.RetryMax) {
		of := &conditions.FieldConflictError{Conflict: conflicts.Of(id, "", s.Started), Object: mark.RefOf(parent), NameOf: func(manager string) string { return s.Running.ManagerFor(s.Op, manager) }}
		s.Changes.RequeueAfter(of.After())
		return of
	}
	defer s.Changes.Begin(parent)()
	live, err := s.Statuses.PlaceConditions(ctx, status, after)
	if err != nil {
		return err
	}
	conflicts.Wrote(id, "", lost, s.Started)
	s.Changes.Observe(s.Op.ParentKey, live)
	return nil
}
