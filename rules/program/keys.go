package program

import (
	"maps"
	"slices"
)

// ComputedKeys lists the keys in a rendered value that its template does not contain, sorted: those of what an expression
// gives, and those that have an expression in them.
func ComputedKeys(t Template, rendered any) []string {
	literal, found := make(map[string]bool), make(map[string]bool)
	addLiteral(t, literal)
	addKeys(rendered, found)
	maps.DeleteFunc(found, func(key string, _ bool) bool { return literal[key] })
	return slices.Sorted(maps.Keys(found))
}

// MaySet reports whether a template may render an object with a field.
func MaySet(t Template, field string) bool {
	switch t := t.(type) {
	case Const:
		fields, _ := t.Value.(map[string]any)
		return fields[field] != nil
	case Map:
		return slices.ContainsFunc(t.Entries, func(e Entry) bool { return e.Key != nil || e.Name == field })
	default:
		return true
	}
}

func addLiteral(t Template, keys map[string]bool) {
	switch t := t.(type) {
	case Const:
		addKeys(t.Value, keys)
	case Map:
		for _, e := range t.Entries {
			if e.Key == nil {
				keys[e.Name] = true
			}
			addLiteral(e.Value, keys)
		}
	case List:
		for _, item := range t.Items {
			addLiteral(item.Value, keys)
		}
	}
}

func addKeys(val any, keys map[string]bool) {
	switch val := val.(type) {
	case map[string]any:
		for key, field := range val {
			keys[key] = true
			addKeys(field, keys)
		}
	case []any:
		for _, item := range val {
			addKeys(item, keys)
		}
	}
}
