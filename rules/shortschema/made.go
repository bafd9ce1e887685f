package shortschema

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/runtime"
	fielderrors "k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"kanon.dev/kanon/rules/diagnostic"
)

// made is the schema of a field while it is built.
type made struct {
	schema map[string]any
	base   base
	// required is true if objects must have the field, immutable if its value never changes once it is set.
	required, immutable bool
	// noDefault is true if the author excluded the default that addDefault would give.
	noDefault bool
	// column is the heading of the field's printer column; empty if it has none.
	column string
	// marked has the positions of the markers in the rule, by name.
	marked map[string]diagnostic.Position
	// fixed has the immutable fields that are removed if the field is. immutables has the positions of the markers of
	// all immutable fields below, those in items and entries too.
	fixed      []fixedField
	immutables []diagnostic.Position
}

// mark records the position of a marker.
func (f *made) mark(name string, at diagnostic.Position) {
	if f.marked == nil {
		f.marked = make(map[string]diagnostic.Position)
	}
	f.marked[name] = at
}

// unset removes what a marker of the field's type set for the field itself, not for its values.
func (f *made) unset(name string) {
	switch name {
	case "required":
		f.required = false
	case "immutable":
		f.immutable = false
	case "default":
		delete(f.schema, name)
		f.noDefault = true
	}
}

// needType refuses an expression about a value without a type, because the API server cannot compare such values.
func (f *made) needType(marker string) error {
	schema := f.schema
	for schema["items"] != nil || schema["additionalProperties"] != nil {
		below := "items"
		if schema["items"] == nil {
			below = "additionalProperties"
		}
		schema, _ = schema[below].(map[string]any)
	}
	if schema["type"] == nil && schema["x-kubernetes-int-or-string"] != true {
		return fmt.Errorf("%s is not for any value, which the API server cannot compare", marker)
	}
	return nil
}

func (f *made) validate(rule map[string]any) {
	rules, _ := f.schema["x-kubernetes-validations"].([]any)
	f.schema["x-kubernetes-validations"] = append(rules, rule)
}

// setValue parses a value of the field's type and sets it in the schema.
func (f *made) setValue(name, value string) error {
	kind, _ := f.schema["type"].(string)
	parsed, err := valueOf(kind, value)
	if f.schema["x-kubernetes-int-or-string"] == true {
		if parsed, err = valueOf("integer", value); err != nil {
			parsed, err = value, nil
		}
	}
	if err != nil {
		return fmt.Errorf("%s must be %w, and is %s", name, err, value)
	}
	f.schema[name] = parsed
	return nil
}

// valueOf parses a value of an OpenAPI type. The error says what the value must be.
func valueOf(kind, text string) (any, error) {
	switch kind {
	case "string":
		return text, nil
	case "integer":
		if digits := strings.TrimLeft(text, "+-"); len(digits) > 1 && digits[0] == '0' {
			return nil, errors.New("a whole number that does not begin with 0, which means octal in YAML")
		}
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			return n, nil
		}
		return nil, errors.New("a whole number")
	case "number":
		if n, ok := numberOf(text); ok {
			return n, nil
		}
		return nil, errors.New("a number")
	case "boolean":
		if text == "true" || text == "false" {
			return text == "true", nil
		}
		return nil, errors.New("true or false")
	}
	var parsed any
	if err := yaml.Unmarshal([]byte(text), &parsed); err != nil {
		return nil, errors.New("JSON")
	}
	if _, isList := parsed.([]any); kind == "array" && !isList {
		return nil, errors.New(`a list in JSON, such as ["a"]`)
	}
	if _, isMap := parsed.(map[string]any); kind == "object" && !isMap {
		return nil, errors.New(`an object in JSON, such as {"a": "b"}`)
	}
	return parsed, nil
}

// numberOf parses a number: an int64, or else a float64 as in JSON.
func numberOf(value string) (any, bool) {
	if n, err := strconv.ParseInt(value, 10, 64); err == nil {
		return n, true
	}
	var n float64
	if err := json.Unmarshal([]byte(value), &n); err != nil {
		return nil, false
	}
	return n, true
}

// Constrain tells the reader that the kind has validations of spec or of the whole object. Call it before Root.
func (r *Reader) Constrain() { r.constraints++ }

// enter is called with the markers of a field before its content is read, and leave after that. A validation, or
// maxProperties, can forbid that an object has two of its mappings at once. Below such a field no mapping gets a
// default that its author did not write: if each had one, no object would be valid.
func (r *Reader) enter(markers []marker) (leave func()) {
	if !slices.ContainsFunc(markers, func(m marker) bool { return m.name == "validation" || m.name == "maxProperties" }) {
		return func() {}
	}
	r.constraints++
	return func() { r.constraints-- }
}

// addDefault gives an object an empty default if its fields have defaults and none is required. So the defaults of the
// fields apply even if the object is left out, as in kro. An object with a default of its own keeps it, and a required
// object gets none.
//
// The API server validates a default as it is written, without the defaults of the fields. If it would refuse an empty
// object, the default includes the fields. If it would refuse even that, there is no default.
func (f *made) addDefault() {
	if f.base != object || f.required || f.noDefault || f.schema["default"] != nil || f.schema["required"] != nil || !f.hasDefaults() {
		return
	}
	props := propsOf(f.schema)
	if props == nil {
		return
	}
	of, err := structuralschema.NewStructural(props)
	if err != nil {
		return
	}
	filled := map[string]any{}
	defaulting.Default(filled, of)
	if !takes(of, filled) {
		return
	}
	f.schema["default"] = filled
	if takes(of, map[string]any{}) {
		f.schema["default"] = map[string]any{}
	}
}

// hasDefaults reports whether a field of an object has a default.
func (f *made) hasDefaults() bool {
	properties, _ := f.schema["properties"].(map[string]any)
	for _, property := range properties {
		if field, _ := property.(map[string]any); field["default"] != nil {
			return true
		}
	}
	return false
}

// propsOf converts a schema to the API server's internal form. It returns nil if that is not possible.
func propsOf(schema map[string]any) *apiextensions.JSONSchemaProps {
	var props apiextensionsv1.JSONSchemaProps
	var internal apiextensions.JSONSchemaProps
	if runtime.DefaultUnstructuredConverter.FromUnstructured(schema, &props) != nil ||
		apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(&props, &internal, nil) != nil {
		return nil
	}
	return &internal
}

// takes reports whether the API server accepts value as the default of an object. It ignores the defaults and the
// expressions of the object's fields.
func takes(of *structuralschema.Structural, value map[string]any) bool {
	own := of.DeepCopy()
	for name, field := range own.Properties {
		visitor := structuralschema.Visitor{Structural: func(s *structuralschema.Structural) bool {
			s.Default, s.XValidations = structuralschema.JSON{}, nil
			return true
		}}
		visitor.Visit(&field)
		own.Properties[name] = field
	}
	own.Default = structuralschema.JSON{Object: value}
	// The object is tested as a field, because the API server adds fields to a root.
	root := &structuralschema.Structural{Properties: map[string]structuralschema.Structural{"field": *own}}
	root.Type = "object"
	// Nothing needs to cancel this: the API server bounds the cost of expressions.
	wrong, err := defaulting.ValidateDefaults(context.Background(), nil, root, false, true) //nolint:forbidigo // decoding does not wait for anything, so it has no context
	return err == nil && len(wrong) == 0
}

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
