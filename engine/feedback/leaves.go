package feedback

import (
	"maps"
	"slices"

	"sigs.k8s.io/structured-merge-diff/v6/value"
)

// ChangedLeaves lists the paths of the fields of wanted, which is at path, that have lacks or has with another value. A
// list counts as one leaf.
func ChangedLeaves(path string, wanted, have any) []string {
	fields, isMap := wanted.(map[string]any)
	switch {
	case !isMap && value.Equals(value.NewValueInterface(wanted), value.NewValueInterface(have)):
		return nil
	case !isMap:
		return []string{path}
	}
	others, _ := have.(map[string]any)
	var changed []string
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		changed = append(changed, ChangedLeaves(path+"."+name, fields[name], others[name])...)
	}
	return changed
}
