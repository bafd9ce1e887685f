package schemas

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	smdschema "sigs.k8s.io/structured-merge-diff/v6/schema"
)

// ConditionsShape describes status and status.conditions in a kind's schema.
type ConditionsShape struct {
	// HasStatus is true if the schema has a field status.
	HasStatus bool
	// HasConditions is true if status has a list called conditions.
	HasConditions bool
	// ListMap is true if conditions are identified by their type, so that each field manager can own its own. Otherwise
	// the list is atomic, and an apply replaces the conditions of others.
	ListMap bool
	// Fields are the fields of a condition, apart from its type.
	Fields ConditionFields
}

// ConditionFields are the fields of a metav1.Condition that a kind's conditions have.
type ConditionFields struct {
	Status, Reason, Message, ObservedGeneration, LastTransitionTime bool
}

// Has reports whether conditions have a field, by its JSON name. They always have type.
func (f ConditionFields) Has(name string) bool {
	switch name {
	case "type":
		return true
	case "status":
		return f.Status
	case "reason":
		return f.Reason
	case "message":
		return f.Message
	case "observedGeneration":
		return f.ObservedGeneration
	case "lastTransitionTime":
		return f.LastTransitionTime
	default:
		return false
	}
}

// Conditions returns the shape of gvk's conditions; the zero value for a kind without a schema. As for Converter, the
// error reports that the schema could not be loaded, or is not published yet.
func (s *Schemas) Conditions(ctx context.Context, gvk schema.GroupVersionKind) (ConditionsShape, error) {
	e, err := s.find(ctx, gvk)
	switch {
	case errors.Is(err, ErrNoSchema):
		return ConditionsShape{}, nil
	case err != nil:
		return ConditionsShape{}, err
	}
	if known, ok := e.conditions.Load(gvk); ok {
		shape, _ := known.(ConditionsShape)
		return shape, nil
	}
	shape, err := e.conditionsOf(gvk)
	if err == nil {
		e.conditions.Store(gvk, shape)
	}
	return shape, err
}

// conditionsOf reads the shape of a kind's conditions in the document.
func (e *entry) conditionsOf(gvk schema.GroupVersionKind) (ConditionsShape, error) {
	bare := &unstructured.Unstructured{}
	bare.SetGroupVersionKind(gvk)
	typed, err := e.converter.ObjectToTyped(bare)
	if err != nil {
		return ConditionsShape{}, fmt.Errorf("find %s in its schema: %w", gvk, err)
	}
	status, ok := field(typed.Schema(), typed.TypeRef(), "status")
	if !ok {
		return ConditionsShape{}, nil
	}
	shape := ConditionsShape{HasStatus: true}
	conditions, ok := field(typed.Schema(), status, "conditions")
	if !ok {
		return shape, nil
	}
	atom, ok := typed.Schema().Resolve(conditions)
	if !ok || atom.List == nil {
		return shape, nil
	}
	shape.HasConditions = true
	shape.Fields = fieldsOf(typed.Schema(), atom.List.ElementType)
	shape.ListMap = atom.List.ElementRelationship == smdschema.Associative && slices.Equal(atom.Keys, []string{"type"})
	return shape, nil
}

// fieldsOf returns the fields of a condition: the declared ones, or all if unknown fields are kept.
func fieldsOf(s *smdschema.Schema, condition smdschema.TypeRef) ConditionFields {
	has := func(name string) bool {
		atom, ok := s.Resolve(condition)
		if !ok || atom.Map == nil {
			return false
		}
		_, declared := atom.FindField(name)
		return declared || atom.Map.ElementType != (smdschema.TypeRef{})
	}
	return ConditionFields{
		Status: has("status"), Reason: has("reason"), Message: has("message"),
		ObservedGeneration: has("observedGeneration"), LastTransitionTime: has("lastTransitionTime"),
	}
}

// field returns the type of a declared field of a struct.
func field(s *smdschema.Schema, ref smdschema.TypeRef, name string) (smdschema.TypeRef, bool) {
	atom, ok := s.Resolve(ref)
	if !ok || atom.Map == nil {
		return smdschema.TypeRef{}, false
	}
	f, ok := atom.FindField(name)
	return f.Type, ok
}
