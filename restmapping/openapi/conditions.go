package openapi

import (
	"context"
	"errors"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
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
	// Fields are the fields of a metav1.Condition that a condition has, apart from its type, with blanks between.
	Fields string
}

// Has reports whether conditions have a field.
func (s ConditionsShape) Has(name string) bool {
	return name == "type" || slices.Contains(strings.Fields(s.Fields), name)
}

// Conditions returns the shape of gvk's conditions; the zero value for a kind without a schema. As for Converter, the
// error reports that the schema could not be loaded, or is not published yet.
func (s *Published) Conditions(ctx context.Context, gvk schema.GroupVersionKind) (ConditionsShape, error) {
	kind, err := s.Kind(ctx, gvk)
	if errors.Is(err, ErrNoSchema) {
		err = nil
	}
	if err != nil || kind == nil || kind.Fields["status"] == nil {
		return ConditionsShape{}, err
	}
	shape := ConditionsShape{HasStatus: true}
	conditions := kind.Fields["status"].Schema.Fields["conditions"]
	if conditions == nil || conditions.Schema.Type != List {
		return shape, nil
	}
	shape.HasConditions = true
	shape.ListMap = slices.Equal(conditions.Schema.Keys, []string{"type"})
	var fields []string
	items := conditions.Schema.Items
	for _, name := range []string{"status", "reason", "message", "observedGeneration", "lastTransitionTime"} {
		if _, ok := items.At(name); ok || items != nil && items.Type == Any {
			fields = append(fields, name)
		}
	}
	shape.Fields = strings.Join(fields, " ")
	return shape, nil
}
