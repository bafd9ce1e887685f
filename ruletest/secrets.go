package ruletest

import (
	"encoding/base64"
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kanon.dev/kanon/engine/apply/fieldset"
	"kanon.dev/kanon/simulation"
)

// hidden stands in a message in place of a value of a Secret.
const hidden = "(hidden)"

// leastPart is from how many characters on a value of a Secret is also looked for inside other text. Shorter ones would be found
// where they are not.
const leastPart = 6

// secrets are the values that Secrets have had in a case, as text and as base64. Messages do not show them, wherever they have got to.
type secrets map[string]bool

// note takes in what Secrets hold now.
func (s secrets) note(state *simulation.State) {
	for _, object := range objectsOf(state) {
		values, _ := object.Object["data"].(map[string]any)
		if !fieldset.IsSecret(object) {
			continue
		}
		for _, value := range values {
			encoded, _ := value.(string)
			text, err := base64.StdEncoding.DecodeString(encoded)
			if err == nil && len(text) > 0 {
				s[encoded], s[string(text)] = true, true
			}
		}
	}
}

// objectsOf are all objects, and the parent.
func objectsOf(state *simulation.State) []*unstructured.Unstructured {
	all := append([]*unstructured.Unstructured{}, state.Objects...)
	for _, objects := range state.Children {
		all = append(all, objects...)
	}
	if state.Parent != nil {
		all = append(all, state.Parent)
	}
	return all
}

// hide is a value of JSON as a message shows it.
func (s secrets) hide(val any) any {
	switch val := val.(type) {
	case string:
		if s[val] {
			return hidden
		}
		for value := range s {
			if len(value) >= leastPart {
				val = strings.ReplaceAll(val, value, hidden)
			}
		}
		return val
	case []any:
		out := make([]any, len(val))
		for i, item := range val {
			out[i] = s.hide(item)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(val))
		for name, item := range val {
			out[name] = s.hide(item)
		}
		return out
	default:
		return val
	}
}

// shown is a value for a message.
func (r *runner) shown(val any) string { return shown(r.secrets.hide(val)) }

// withoutSecrets is an object with something else as the values of a Secret.
func withoutSecrets(object *unstructured.Unstructured) *unstructured.Unstructured {
	values, _ := object.Object["data"].(map[string]any)
	if !fieldset.IsSecret(object) || len(values) == 0 {
		return object
	}
	other := object.DeepCopy()
	for key := range values {
		_ = unstructured.SetNestedField(other.Object, base64.StdEncoding.EncodeToString([]byte(hidden)), "data", key) // which is a mapping
	}
	return other
}

// common is a value of JSON with hidden in place of the parts that another one does not have. The other one was computed in the
// same way from something else in place of the values of Secrets: what differs comes from these.
func common(val, other any) any {
	switch val := val.(type) {
	case map[string]any:
		others, _ := other.(map[string]any)
		out := make(map[string]any, len(val))
		for name, field := range val {
			if with, ok := others[name]; ok {
				out[name] = common(field, with)
			} else {
				out[hidden] = hidden
			}
		}
		return out
	case []any:
		others, _ := other.([]any)
		if len(others) != len(val) {
			return hidden
		}
		out := make([]any, len(val))
		for i, item := range val {
			out[i] = common(item, others[i])
		}
		return out
	default:
		if reflect.DeepEqual(val, other) {
			return val
		}
		return hidden
	}
}
