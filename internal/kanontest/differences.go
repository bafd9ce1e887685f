package kanontest

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Differences says in what live is not as want says, one difference a line, each
// with its path. Every field of want must be in live with that value; live may
// have further fields. A list must have as many items as in want, each as want
// says in the same place.
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
		if live, ok := live.([]any); ok && len(live) == len(want) {
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

func asJSON(value any) string {
	text, err := json.Marshal(value)
	if err != nil { // no value of an object is like that
		return err.Error()
	}
	return string(text)
}
