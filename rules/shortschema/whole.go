package shortschema

import (
	"encoding/json"
	"fmt"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	fielderrors "k8s.io/apimachinery/pkg/util/validation/field"

	"kanon.dev/kanon/rules/diagnostic"
)

// checkWhole checks a field after all of its markers and those of its type are known. at is its position in the rule.
func (r *Reader) checkWhole(f *made, at diagnostic.Position) {
	r.checkImmutables(f, at)
	if f.base == raw {
		return
	}
	r.checkValues(f)
}

// checkValues reports values of enum, default and example that the API server would refuse in an object.
func (r *Reader) checkValues(f *made) {
	for _, marker := range []string{"enum", "default", "example"} {
		value := f.schema[marker]
		if value == nil {
			continue
		}
		values := []any{value}
		if marker == "enum" {
			values, _ = value.([]any)
		}
		for _, one := range values {
			if wrong := f.refused(one); wrong != "" {
				text, _ := json.Marshal(one)
				r.reportOnce(f.marked[marker], "%s has %s, which no object can have: %s", marker, text, wrong).
					WithHint("write another value, or change what the field takes")
				break
			}
		}
	}
}

// refused returns why the API server would refuse a value of the field. It returns "" if it would not, or if the schema
// itself is invalid.
func (f *made) refused(value any) string {
	props := propsOf(f.schema)
	if props == nil {
		return ""
	}
	validator, _, err := validation.NewSchemaValidator(props)
	if err != nil {
		return ""
	}
	for _, wrong := range validation.ValidateCustomResource(nil, value, validator) {
		return reasonOf(wrong)
	}
	return ""
}

// reasonOf says what is wrong with a value, or with which of its fields.
func reasonOf(wrong *fielderrors.Error) string {
	reason := strings.TrimSpace(wrong.Detail)
	if _, detail, ok := strings.Cut(reason, "in body "); ok {
		reason = detail
	}
	if reason == "" {
		reason = strings.ToLower(wrong.Type.String())
	}
	if wrong.Field == "" || wrong.Field == "<nil>" {
		return reason
	}
	return fmt.Sprintf("%s: %s", wrong.Field, reason)
}

// asFloat returns a number of a schema, which is an int64 or a float64.
func asFloat(n any) float64 {
	if whole, ok := n.(int64); ok {
		return float64(whole)
	}
	f, _ := n.(float64)
	return f
}
