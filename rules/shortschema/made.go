package shortschema

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

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
