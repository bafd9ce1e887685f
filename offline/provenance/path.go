package provenance

import (
	"fmt"
	"slices"

	"kanon.dev/kanon/rules/ignore"
)

// itemStep is the step to an item of a list. The item is told apart by one of the fields that the lists of Kubernetes have for that, if
// the items differ in it.
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

// textOf is a field of an item as text; empty if it has none.
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

// locate finds the field of another object that a path means: an item by its key, if it has one. It returns the path there.
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

// find is the part of an object that the path of a rule leads to. exists is false if the object has no such field.
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
		for _, key := range sortedKeys(step.Keys) {
			next.Key, next.Value = key, step.Keys[key]
		}
		at = append(at, next)
	}
	return at, exists
}
