package provenance

import (
	"fmt"
	"slices"

	"kanon.dev/kanon/rules/ignore"
)

// itemStep is the step to an item of a list. The item is identified by the first of the usual key fields of Kubernetes'
// lists whose values are all set and distinct, else by its index.
func itemStep(items []any, index int) Step {
	for _, key := range []string{"name", "type", "key", "containerPort", "port", "mountPath", "ip", "uid"} {
		seen := map[string]bool{}
		for _, item := range items {
			seen[textOf(item, key)] = true
		}
		if !seen[""] && len(seen) == len(items) {
			return Step{Index: index, Key: key, Value: textOf(items[index], key)}
		}
	}
	return Step{Index: index}
}

// textOf is a string or integer field of an item as text; empty if the item has none.
func textOf(item any, name string) string {
	fields, _ := item.(map[string]any)
	switch v := fields[name].(type) {
	case string:
		return v
	case int64:
		return fmt.Sprint(v)
	}
	return ""
}

// locate finds the field at a path of another object. Items with a key are found by the key. at is the path in object.
func locate(object any, p Path) (at Path, value any, exists bool) {
	value = object
	for _, step := range p {
		if step.Index < 0 {
			fields, _ := value.(map[string]any)
			if value, exists = fields[step.Name]; !exists {
				return append(at, p[len(at):]...), nil, false
			}
			at = append(at, step)
			continue
		}
		items, _ := value.([]any)
		index := step.Index
		if step.Key != "" {
			index = slices.IndexFunc(items, func(item any) bool { return textOf(item, step.Key) == step.Value })
		}
		if index < 0 || index >= len(items) {
			return append(at, p[len(at):]...), nil, false
		}
		step.Index = index
		value, at = items[index], append(at, step)
	}
	return at, value, true
}

// find resolves a path of a rule in an object. exists is false if the object has no such field.
func find(object any, path ignore.Path) (at Path, exists bool) {
	value := object
	for _, step := range path {
		if step.Keys == nil {
			fields, _ := value.(map[string]any)
			value, exists = fields[step.Field]
			at = append(at, named(step.Field))
			continue
		}
		items, _ := value.([]any)
		index := slices.IndexFunc(items, func(item any) bool {
			for key, text := range step.Keys {
				if textOf(item, key) != text {
					return false
				}
			}
			return true
		})
		if index < 0 {
			index, value, exists = len(items), nil, false
		} else {
			value = items[index]
		}
		next := Step{Index: index}
		for _, key := range sortedNames(step.Keys) {
			next.Key, next.Value = key, step.Keys[key]
		}
		at = append(at, next)
	}
	return at, exists
}
