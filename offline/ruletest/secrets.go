package ruletest

import (
	"encoding/base64"
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kanon.dev/kanon/engine/apply/fieldset"
	"kanon.dev/kanon/offline/simulation"
	"kanon.dev/kanon/redact"
)

// note takes in what Secrets among objects hold. Messages do not show it, wherever it has got to.
func (r *runner) note(objects ...*unstructured.Unstructured) {
	for _, object := range objects {
		r.secrets.Note(object)
	}
}

// hideSecrets takes what Secrets held in any of the steps out of the messages of failures: a name may have it, or the answer of the API server.
func (r *runner) hideSecrets() {
	text := r.secrets.Masker()
	for i := range r.failures {
		r.failures[i].Message = text(r.failures[i].Message)
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

// shown is a value for a message.
func (r *runner) shown(val any) string { return shown(r.secrets.JSON(val)) }

// stand is what stands for the value of a Secret, as data has it.
//
//nolint:gochecknoglobals // a constant in all but syntax
var stand = base64.StdEncoding.EncodeToString([]byte(redact.Hidden))

// withoutSecrets is an object with something else as the values of a Secret.
func withoutSecrets(object *unstructured.Unstructured) *unstructured.Unstructured {
	values, _ := object.Object["data"].(map[string]any)
	if !fieldset.IsSecret(object) || len(values) == 0 {
		return object
	}
	other := object.DeepCopy()
	for key := range values {
		_ = unstructured.SetNestedField(other.Object, stand, "data", key) // which is a mapping
	}
	return other
}

// common is a value of JSON with redact.Hidden in place of the parts that another one does not have. The other one was computed in the
// same way from something else in place of the values of Secrets: what differs comes from these. Of a text that has them in it as they are,
// the rest stays.
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
		if shown := r.secrets.Text(val); val == with || shown == strings.ReplaceAll(with, stand, redact.Hidden) {
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
