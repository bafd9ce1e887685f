package overlay

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime"

	"kanon.dev/kanon/openapi"
)

// Apply lays rendered over live, which it changes, and removes what before has and rendered has not. schema is that of the kind; nil
// where there is none. before may be nil. Nothing of before and rendered is changed or kept.
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
	if schema == nil {
		return nil
	}
	below, _ := schema.At(name)
	return below
}

// laid is a rendered value laid over a live one.
func laid(schema *openapi.Schema, live, before, rendered any) any {
	switch rendered := rendered.(type) {
	case map[string]any:
		if liveFields, ok := live.(map[string]any); ok {
			beforeFields, _ := before.(map[string]any)
			Apply(schema, liveFields, beforeFields, rendered)
			return liveFields
		}
	case []any:
		liveItems, ok := live.([]any)
		if identify := identifier(schema); ok && identify != nil {
			beforeItems, _ := before.([]any)
			return laidItems(schema, identify, liveItems, beforeItems, rendered)
		}
	}
	return runtime.DeepCopyJSONValue(rendered)
}

// laidItems are the rendered items of a list laid over the live ones. identify tells which are the same.
func laidItems(schema *openapi.Schema, identify identity, live, before, rendered []any) []any {
	all := slices.Clone(live)
	for _, was := range before {
		if index(identify, rendered, was) >= 0 {
			continue
		}
		if i := index(identify, all, was); i >= 0 {
			all = slices.Delete(all, i, i+1)
		}
	}
	for _, item := range rendered {
		var was any
		if i := index(identify, before, item); i >= 0 {
			was = before[i]
		}
		if i := index(identify, all, item); i >= 0 {
			all[i] = laid(schema.Items, all[i], was, item)
		} else {
			all = append(all, runtime.DeepCopyJSONValue(item))
		}
	}
	return all
}

// withdraw removes a field that is no longer rendered. What others have set below it stays.
func withdraw(schema *openapi.Schema, live map[string]any, name string, was any) {
	switch was := was.(type) {
	case map[string]any:
		if below, ok := live[name].(map[string]any); ok {
			if Apply(schema, below, was, nil); len(below) > 0 {
				return
			}
		}
	case []any:
		items, ok := live[name].([]any)
		if identify := identifier(schema); ok && identify != nil {
			if items = laidItems(schema, identify, items, was, nil); len(items) > 0 {
				live[name] = items
				return
			}
		}
	}
	delete(live, name)
}

// identity tells how sure it is that two items of a list are the same.
type identity func(a, b any) likeness

type likeness int

const (
	different likeness = iota
	// alike: what tells them apart is missing in one of them, as a port without its protocol, which has a default.
	alike
	same
)

// identifier is how items of a list are told apart; nil if the list is replaced as a whole.
func identifier(schema *openapi.Schema) identity {
	switch {
	case schema == nil:
		return nil
	case schema.Set:
		return func(a, b any) likeness {
			if equality.Semantic.DeepEqual(a, b) {
				return same
			}
			return different
		}
	case len(schema.Keys) > 0:
		return func(a, b any) likeness { return byKeys(schema.Keys, a, b) }
	default:
		return nil
	}
}

func byKeys(keys []string, a, b any) likeness {
	fields, ok1 := a.(map[string]any)
	others, ok2 := b.(map[string]any)
	if !ok1 || !ok2 {
		return different
	}
	found, present := same, false
	for _, key := range keys {
		value, ok1 := fields[key]
		other, ok2 := others[key]
		switch {
		case !ok1 || !ok2:
			if ok1 != ok2 {
				found = alike
			}
		case !equality.Semantic.DeepEqual(value, other):
			return different
		default:
			present = true
		}
	}
	if !present {
		return different
	}
	return found
}

// index is where an item of a list is that is the same, or else alike; below zero if there is none.
func index(identify identity, items []any, item any) int {
	best, at := different, -1
	for i, other := range items {
		if like := identify(other, item); like > best {
			best, at = like, i
		}
	}
	return at
}
