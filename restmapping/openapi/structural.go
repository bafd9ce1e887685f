package openapi

import (
	"maps"
	"slices"
)

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
