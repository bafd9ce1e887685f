package feedback

import (
	"bytes"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
)

// ChangedLeaves lists the paths of the fields of wanted, which is at path, that have lacks or has with another value. A
// list counts as one leaf.
func ChangedLeaves(path string, wanted, have any) []string {
	fields, isMap := wanted.(map[string]any)
	switch {
	case !isMap && sameJSON(wanted, have):
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

// sameJSON reports whether two values are the same in JSON, such as 1 and 1.0.
func sameJSON(a, b any) bool {
	if reflect.DeepEqual(a, b) {
		return true
	}
	left, err := json.Marshal(a)
	if err != nil {
		return false
	}
	right, err := json.Marshal(b)
	return err == nil && bytes.Equal(left, right)
}
