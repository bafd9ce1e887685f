package openapi

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Type is the type of a JSON value, as far as Kubernetes distinguishes types.
type Type uint8

const (
	// Any is a value of unknown type.
	Any Type = iota
	// Object has Fields and, if Open, other fields.
	Object
	// Map has any string keys, and values of Items.
	Map
	// List has elements of Items.
	List
	// String is text; Format and Enum may restrict it.
	String
	// Integer is a whole number.
	Integer
	// Number is any number.
	Number
	// Boolean is true or false.
	Boolean
	// IntOrString is either one, such as a port or a quantity.
	IntOrString
)

// Schema describes the values of a field. It is immutable, and may contain itself.
type Schema struct {
	// Name is unique among all schemas in use, and the same for the same content: the name of the kind or the
	// component, the path to the schema inside it, and a mark for the content. Only objects have one. Title is its
	// readable part.
	Name string
	Type Type
	// Format restricts a string or a number: date-time, duration, byte, int32. FormatQuantity marks an IntOrString that
	// is a quantity.
	Format string
	// Fields are those of an Object.
	Fields map[string]*Field
	// Open is true for an Object that keeps fields that the schema does not name.
	Open bool
	// Items is the schema of a List's elements and of a Map's values; nil is Any.
	Items *Schema
	// Enum lists the allowed values; empty if all of the type are.
	Enum []any
	// Nullable is true if null is kept as a value.
	Nullable bool
	// Atomic is true for an Object or a Map that is owned as a whole: whoever applies one field of it applies all. A
	// List is always atomic unless it has Keys or is a Set.
	Atomic bool
	// Keys are the fields that identify the elements of a List (listType=map); empty if there are none.
	Keys []string
	// KeyDefaults are the defaults of Keys; nil in the place of a key without one. Empty if no key has one.
	KeyDefaults []any
	// Set is true for a List with listType=set.
	Set bool
}

// FormatQuantity is the format of a resource.Quantity, such as 500m or 1Gi.
const FormatQuantity = "quantity"

// Formats of text that expressions can convert.
const (
	FormatTime     = "date-time"
	FormatDate     = "date"
	FormatDuration = "duration"
)

// QuantityPattern is the pattern of a resource.Quantity in a CustomResourceDefinition, as controller-gen writes it
// (https://github.com/kubernetes-sigs/controller-tools/blob/main/pkg/crd/known_types.go). An IntOrString with it is a
// quantity. A format would not do: the API server warns of formats that it does not check.
const QuantityPattern = `^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$`

// FormatByte is the format of base64 text, such as in a Secret's data.
const FormatByte = "byte"

// markSign begins the mark in a name.
const markSign = "~"

// Title is the name for people: apps/v1.Deployment, io.k8s.api.core.v1.PodSpec, shop.example.com/v1.WebApp.spec.
func (s *Schema) Title() string {
	title, _, _ := strings.Cut(s.Name, markSign)
	return title
}

// IsBytes reports whether values are bytes, which are base64 in JSON.
func (s *Schema) IsBytes() bool {
	return s != nil && s.Type == String && s.Format == FormatByte
}

// At returns the schema of a name in an Object or a Map; nil is Any. It returns false if the name is not allowed.
func (s *Schema) At(name string) (*Schema, bool) {
	switch {
	case s == nil:
		return nil, false
	case s.Type == Map:
		return s.Items, true
	case s.Fields[name] != nil:
		return s.Fields[name].Schema, true
	}
	return nil, s.Open
}

// Field is one field of an Object.
type Field struct {
	Schema *Schema
	// Required is true if the API server refuses an object without the field.
	Required bool
	// Defaulted is true if the API server sets the field.
	Defaulted bool
	// Always is true if the API server makes sure that every object has the field, although its documents do not say
	// so.
	Always bool
	// Immutable is true if the validation rule self == oldSelf forbids changes.
	Immutable bool
}

// maxStructural bounds the schemas inside a structural one: a Pod has 500.
const maxStructural = 2_000

// Structural returns the schema as in a CustomResourceDefinition: with types, and without limits, enums and required
// fields. It returns false for a schema that contains itself, or has thousands of fields.
func (s *Schema) Structural() (map[string]any, bool) {
	w := structuralWriter{left: maxStructural}
	made := w.write(s)
	return made, !w.failed
}

type structuralWriter struct {
	// open are the enclosing objects.
	open   []*Schema
	left   int
	failed bool
}

func (w *structuralWriter) write(s *Schema) map[string]any {
	if w.left--; w.left < 0 || slices.Contains(w.open, s) {
		w.failed = true
	}
	if w.failed {
		return nil
	}
	if s == nil {
		s = &Schema{}
	}
	switch s.Type {
	case Object:
		return w.object(s)
	case Map:
		return map[string]any{"type": "object", "additionalProperties": w.write(s.Items)}
	case List:
		return map[string]any{"type": "array", "items": w.write(s.Items)}
	case String:
		made := map[string]any{"type": "string"}
		if slices.Contains([]string{FormatTime, FormatDate, FormatDuration, FormatByte}, s.Format) {
			made["format"] = s.Format
		}
		return made
	case Integer:
		return map[string]any{"type": "integer"}
	case Number:
		return map[string]any{"type": "number"}
	case Boolean:
		return map[string]any{"type": "boolean"}
	case IntOrString:
		return map[string]any{"x-kubernetes-int-or-string": true, "anyOf": []any{map[string]any{"type": "integer"}, map[string]any{"type": "string"}}}
	default:
		return map[string]any{"x-kubernetes-preserve-unknown-fields": true}
	}
}

func (w *structuralWriter) object(s *Schema) map[string]any {
	w.open = append(w.open, s)
	defer func() { w.open = w.open[:len(w.open)-1] }()
	made := map[string]any{"type": "object"}
	if s.Open {
		made["x-kubernetes-preserve-unknown-fields"] = true
	}
	if len(s.Fields) == 0 {
		return made
	}
	properties := make(map[string]any, len(s.Fields))
	for name, field := range s.Fields {
		properties[name] = w.write(field.Schema)
	}
	made["properties"] = properties
	return made
}

// Join returns the schema of values that match one of two schemas; nil if no single type covers both.
func Join(a, b *Schema) *Schema {
	switch {
	case a == nil || b == nil:
		return nil
	case a == b:
		return a
	case a.Type == Integer && b.Type == Number:
		return b
	case a.Type == Number && b.Type == Integer:
		return a
	case a.Type != b.Type:
		return nil
	}
	switch a.Type {
	case Object:
		return joinObjects(a, b)
	case Map, List:
		items := Join(a.Items, b.Items)
		if items == nil {
			return nil
		}
		return &Schema{Type: a.Type, Items: items}
	case String:
		if a.Format != b.Format {
			return &Schema{Type: String}
		}
	}
	return a
}

func joinObjects(a, b *Schema) *Schema {
	made := &Schema{Type: Object, Open: a.Open || b.Open, Fields: make(map[string]*Field, len(a.Fields))}
	maps.Copy(made.Fields, a.Fields)
	for name, field := range b.Fields {
		if have := made.Fields[name]; have != nil {
			joined := Join(have.Schema, field.Schema)
			if joined == nil {
				return nil
			}
			field = &Field{Schema: joined}
		}
		made.Fields[name] = field
	}
	return made
}

// ConditionsShape describes status and status.conditions in a kind's schema.
type ConditionsShape struct {
	// HasStatus is true if the schema has a field status.
	HasStatus bool
	// HasGeneration is true if status has a whole number called observedGeneration.
	HasGeneration bool
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
	shape, status := ConditionsShape{HasStatus: true}, kind.Fields["status"].Schema.Fields
	if generation := status["observedGeneration"]; generation != nil {
		shape.HasGeneration = generation.Schema.Type == Integer
	}
	conditions := status["conditions"]
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
