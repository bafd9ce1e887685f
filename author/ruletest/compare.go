package ruletest

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// difference is a place where a value differs from the expected one.
type difference struct {
	path, text string
	// got is the value at path; nil if it does not exist.
	got *any
}

// message describes the difference. show formats a value.
func (d difference) message(show func(any) string) string {
	text := d.text
	if d.got != nil {
		text += show(*d.got)
	}
	if d.path == "" {
		return text
	}
	return d.path + ": " + text
}

// differences lists the differences between want and got. Unless the comparison is exact, fields that are missing in
// want may have any value. A null in want means that the field does not exist. Lists must have the same length, and are
// compared item by item.
func differences(path string, want, got any, exact bool) []difference {
	switch want := want.(type) {
	case map[string]any:
		return fieldDifferences(path, want, got, exact)
	case []any:
		items, ok := got.([]any)
		switch {
		case !ok:
			return []difference{{path, "want a list, got ", &got}}
		case len(items) != len(want):
			return []difference{{path, fmt.Sprintf("want %d items, got %d: ", len(want), len(items)), &got}}
		}
		var all []difference
		for i, item := range want {
			all = append(all, differences(fmt.Sprintf("%s[%d]", path, i), item, items[i], exact)...)
		}
		return all
	default:
		if reflect.DeepEqual(want, got) || isSameNumber(want, got) {
			return nil
		}
		return []difference{{path, fmt.Sprintf("want %s, got ", shown(want)), &got}}
	}
}

func fieldDifferences(path string, want map[string]any, got any, exact bool) []difference {
	fields, ok := got.(map[string]any)
	if !ok {
		return []difference{{path, "want a mapping, got ", &got}}
	}
	var all []difference
	for _, name := range slices.Sorted(maps.Keys(want)) {
		at := path + "." + name
		value, exists := fields[name]
		switch {
		case want[name] == nil && !exists:
		case !exists:
			all = append(all, difference{at, fmt.Sprintf("want %s, and it does not exist", shown(want[name])), nil})
		default:
			all = append(all, differences(at, want[name], value, exact)...)
		}
	}
	if !exact {
		return all
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if _, wanted := want[name]; !wanted {
			got := fields[name]
			all = append(all, difference{path + "." + name, "is not wanted, got ", &got})
		}
	}
	return all
}

func isSameNumber(a, b any) bool {
	x, ok1 := toFloat(a)
	y, ok2 := toFloat(b)
	return ok1 && ok2 && x == y
}

func toFloat(v any) (float64, bool) {
	switch n := v.(type) {
	case int64:
		return float64(n), true
	case float64:
		return n, true
	}
	return 0, false
}

// maxShown is the maximum length of a value in a message.
const maxShown = 200

// shown is a value as JSON.
func shown(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	if len(text) > maxShown {
		return strings.ToValidUTF8(string(text[:maxShown]), "") + "…"
	}
	return string(text)
}
