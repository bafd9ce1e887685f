package kanontest

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Differences lists how live differs from want, one difference a line, with its path. Every field of want must have the
// same value in live; live may have other fields. A field that is null in want must be missing in live. A list must
// have as many items as in want, and each must match in its place. The conditions of a status may have other items, and
// any order.
func Differences(want, live *unstructured.Unstructured) []string {
	return compare("", want.Object, live.Object)
}

func compare(path string, want, live any) []string {
	switch want := want.(type) {
	case map[string]any:
		if live, ok := live.(map[string]any); ok {
			return compareMaps(path, want, live)
		}
	case []any:
		live, ok := live.([]any)
		if ok && path == ".status.conditions" {
			return compareConditions(path, want, live)
		}
		if ok && len(live) == len(want) {
			return compareLists(path, want, live)
		}
	}
	if reflect.DeepEqual(want, live) {
		return nil
	}
	return []string{fmt.Sprintf("%s: want %s, is %s", path, asJSON(want), asJSON(live))}
}

func compareMaps(path string, want, live map[string]any) []string {
	var differences []string
	for _, key := range slices.Sorted(maps.Keys(want)) {
		value, ok := live[key]
		if want[key] == nil {
			if value != nil {
				differences = append(differences, fmt.Sprintf("%s.%s: want none, is %s", path, key, asJSON(value)))
			}
			continue
		}
		if !ok {
			differences = append(differences, fmt.Sprintf("%s.%s: want %s, is not there", path, key, asJSON(want[key])))
			continue
		}
		differences = append(differences, compare(path+"."+key, want[key], value)...)
	}
	return differences
}

func compareLists(path string, want, live []any) []string {
	var differences []string
	for i := range want {
		differences = append(differences, compare(fmt.Sprintf("%s[%d]", path, i), want[i], live[i])...)
	}
	return differences
}

// compareConditions compares conditions by their types.
func compareConditions(path string, want, live []any) []string {
	var differences []string
	for _, item := range want {
		wanted, _ := item.(map[string]any)
		i := slices.IndexFunc(live, func(item any) bool {
			condition, ok := item.(map[string]any)
			return ok && condition["type"] == wanted["type"]
		})
		if i < 0 {
			differences = append(differences, fmt.Sprintf("%s: want %s, is not there", path, asJSON(item)))
			continue
		}
		differences = append(differences, compare(fmt.Sprintf("%s[%v]", path, wanted["type"]), item, live[i])...)
	}
	return differences
}

func asJSON(value any) string {
	text, err := json.Marshal(value)
	if err != nil { // impossible for values of objects
		return err.Error()
	}
	return string(text)
}
