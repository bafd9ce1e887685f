package ruletest

import (
	"encoding/base64"
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kanon.dev/kanon/author/redact"
	"kanon.dev/kanon/engine/apply/fieldset"
)

// note records the values of Secrets among the objects, to hide them in messages.
func (r *runner) note(objects ...*unstructured.Unstructured) {
	for _, object := range objects {
		r.secrets.Note(object)
	}
}

// hideSecrets hides the recorded values in the messages of failures. A name or an answer of the API server may contain
// them.
func (r *runner) hideSecrets() {
	text := r.secrets.Masker()
	for i := range r.failures {
		r.failures[i].Message = text(r.failures[i].Message)
	}
}

// objectsOf lists all objects of a state, including the parent.
func objectsOf(state *state) []*unstructured.Unstructured {
	all := append([]*unstructured.Unstructured{}, state.Objects...)
	for _, objects := range state.Children {
		all = append(all, objects...)
	}
	if state.Parent != nil {
		all = append(all, state.Parent)
	}
	return all
}

// shown formats a value for a message, with the values of Secrets hidden.
func (r *runner) shown(val any) string { return shown(r.secrets.JSON(val)) }

// placeholder replaces the values of a Secret, encoded as in data.
//
//nolint:gochecknoglobals // a constant in all but syntax
var placeholder = base64.StdEncoding.EncodeToString([]byte(redact.Hidden))

// withoutSecrets is an object with the placeholder for all values of a Secret.
func withoutSecrets(object *unstructured.Unstructured) *unstructured.Unstructured {
	values, _ := object.Object["data"].(map[string]any)
	if !fieldset.IsSecret(object) || len(values) == 0 {
		return object
	}
	other := object.DeepCopy()
	for key := range values {
		_ = unstructured.SetNestedField(other.Object, placeholder, "data", key) // data is a mapping
	}
	return other
}

// common is a JSON value with its secret parts replaced by redact.Hidden. other was computed in the same way from
// placeholders for the values of Secrets, so a part that differs comes from a Secret. If a text contains values of
// Secrets literally, only these are hidden.
func (r *runner) common(val, other any) any {
	switch val := val.(type) {
	case map[string]any:
		others, _ := other.(map[string]any)
		out := make(map[string]any, len(val))
		for name, field := range val {
			if with, ok := others[name]; ok {
				out[name] = r.common(field, with)
			} else {
				out[redact.Hidden] = redact.Hidden
			}
		}
		return out
	case []any:
		others, _ := other.([]any)
		if len(others) != len(val) {
			return redact.Hidden
		}
		out := make([]any, len(val))
		for i, item := range val {
			out[i] = r.common(item, others[i])
		}
		return out
	case string:
		with, _ := other.(string)
		if shown := r.secrets.Text(val); val == with || shown == strings.ReplaceAll(with, placeholder, redact.Hidden) {
			return shown
		}
		return redact.Hidden
	default:
		if reflect.DeepEqual(val, other) {
			return val
		}
		return redact.Hidden
	}
}
