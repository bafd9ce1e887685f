package overlay

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime"

	"kanon.dev/kanon/kinds/openapi"
)

// Apply lays rendered over live, which it changes, and removes what is in before but not in rendered. schema is that of
// the kind, or nil. before may be nil. Apply neither changes nor keeps parts of before and rendered.
func Apply(schema *openapi.Schema, live, before, rendered map[string]any) {
	for name, was := range before {
		if _, stays := rendered[name]; !stays {
			withdraw(at(schema, name), live, name, was)
		}
	}
	for name, value := range rendered {
		live[name] = laid(at(schema, name), live[name], before[name], value)
	}
}

func at(schema *openapi.Schema, name string) *openapi.Schema {
	below, _ := schema.At(name)
	return below
}

// laid is the result of laying a rendered value over a live one.
func laid(schema *openapi.Schema, live, before, rendered any) any {
	switch rendered := rendered.(type) {
	case map[string]any:
		if liveFields, ok := live.(map[string]any); ok && liveFields != nil && !isAtomic(schema) {
			beforeFields, _ := before.(map[string]any)
			Apply(schema, liveFields, beforeFields, rendered)
			return liveFields
		}
	case []any:
		liveItems, ok := live.([]any)
		if isSame := identifier(schema); ok && isSame != nil {
			beforeItems, _ := before.([]any)
			return laidItems(schema, isSame, liveItems, beforeItems, rendered)
		}
	}
	return runtime.DeepCopyJSONValue(rendered)
}

// isAtomic reports whether a mapping is replaced as a whole.
func isAtomic(schema *openapi.Schema) bool { return schema != nil && schema.Atomic }

// laidItems lays the rendered items of a list over the live ones, each over at most one.
func laidItems(schema *openapi.Schema, isSame identity, live, before, rendered []any) []any {
	all := slices.DeleteFunc(slices.Clone(live), func(item any) bool {
		return index(isSame, before, item) >= 0 && index(isSame, rendered, item) < 0
	})
	taken := make([]bool, len(all))
	for _, item := range rendered {
		var was any
		if i := index(isSame, before, item); i >= 0 {
			was = before[i]
		}
		at := slices.IndexFunc(all[:len(taken)], func(other any) bool { return isSame(other, item) })
		if at >= 0 && !taken[at] {
			all[at], taken[at] = laid(schema.Items, all[at], was, item), true
		} else {
			all = append(all, runtime.DeepCopyJSONValue(item))
		}
	}
	return all
}

// withdraw removes a field that is no longer rendered, except what others set below it.
func withdraw(schema *openapi.Schema, live map[string]any, name string, was any) {
	switch was := was.(type) {
	case map[string]any:
		if below, ok := live[name].(map[string]any); ok && !isAtomic(schema) {
			if Apply(schema, below, was, nil); len(below) > 0 {
				return
			}
		}
	case []any:
		items, ok := live[name].([]any)
		if isSame := identifier(schema); ok && isSame != nil {
			if items = laidItems(schema, isSame, items, was, nil); len(items) > 0 {
				live[name] = items
				return
			}
		}
	}
	delete(live, name)
}

// identity reports whether two items of a list are the same item.
type identity func(a, b any) bool

// identifier is how a list identifies its items; nil if the list is replaced as a whole.
func identifier(schema *openapi.Schema) identity {
	switch {
	case schema == nil:
		return nil
	case schema.Set:
		return equality.Semantic.DeepEqual
	case len(schema.Keys) > 0:
		return func(a, b any) bool { return haveSameKeys(schema, a, b) }
	default:
		return nil
	}
}

// haveSameKeys compares items by the keys of their list. A key that an item leaves out has its default, if there is
// one. Items without any key are never the same.
func haveSameKeys(list *openapi.Schema, a, b any) bool {
	fields, ok1 := a.(map[string]any)
	others, ok2 := b.(map[string]any)
	if !ok1 || !ok2 {
		return false
	}
	present := false
	for i := range list.Keys {
		value, ok1 := keyOf(list, fields, i)
		other, ok2 := keyOf(list, others, i)
		if ok1 != ok2 || !equality.Semantic.DeepEqual(value, other) {
			return false
		}
		present = present || ok1
	}
	return present
}

// keyOf is the value of the list's i-th key in an item. ok is false if the item has neither a value nor a default.
func keyOf(list *openapi.Schema, fields map[string]any, i int) (value any, ok bool) {
	if value, ok = fields[list.Keys[i]]; !ok && i < len(list.KeyDefaults) {
		value = list.KeyDefaults[i]
		ok = value != nil
	}
	return value, ok
}

// index is the index of the same item in a list, or -1.
func index(isSame identity, items []any, item any) int {
	return slices.IndexFunc(items, func(other any) bool { return isSame(other, item) })
}
