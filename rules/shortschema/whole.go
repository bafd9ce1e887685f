package shortschema

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
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
	for _, of := range []struct{ least, most string }{
		{"minimum", "maximum"}, {"minLength", "maxLength"}, {"minItems", "maxItems"}, {"minProperties", "maxProperties"},
	} {
		r.checkBounds(f, of.least, of.most)
	}
	for exclusive, bound := range map[string]string{"exclusiveMinimum": "minimum", "exclusiveMaximum": "maximum"} {
		if f.schema[exclusive] == true && f.schema[bound] == nil {
			r.reportOnce(f.marked[exclusive], "%s is about %s, which is missing", exclusive, bound).WithHint("write %s=0 before it", bound)
		}
	}
	if r.checkNumbers(f) {
		r.checkValues(f)
	}
}

// checkBounds reports bounds that exclude every value.
func (r *Reader) checkBounds(f *made, least, most string) {
	low, high := f.schema[least], f.schema[most]
	if low == nil || high == nil {
		return
	}
	above := cmp.Compare(asFloat(low), asFloat(high))
	isExclusive := least == "minimum" && (f.schema["exclusiveMinimum"] == true || f.schema["exclusiveMaximum"] == true)
	if above < 0 || above == 0 && !isExclusive {
		return
	}
	at := f.marked[most]
	if first := f.marked[least]; first.Line > at.Line || first.Line == at.Line && first.Column > at.Column {
		at = first
	}
	hint := "write a %s of %v or less"
	if isExclusive {
		hint = "write a %s that is less than %v"
	}
	r.reportOnce(at, "%s is %v, and %s is %v: no value is within both", least, low, most, high).WithHint(hint, least, high)
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
	text, err := json.Marshal(f.schema)
	if err != nil {
		return ""
	}
	var props apiextensionsv1.JSONSchemaProps
	var internal apiextensions.JSONSchemaProps
	if json.Unmarshal(text, &props) != nil || apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(&props, &internal, nil) != nil {
		return ""
	}
	validator, _, err := validation.NewSchemaValidator(&internal)
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
