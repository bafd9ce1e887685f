package shortschema

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apiserver/pkg/cel/environment"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"kanon.dev/kanon/rules/diagnostic"
)

func keep(name string) func(*made, string) error {
	return func(f *made, value string) error { f.schema[name] = value; return nil }
}

func flag(name string) func(*made, string) error {
	return func(f *made, _ string) error { f.schema[name] = true; return nil }
}

// whole sets a whole number that is not negative, such as a length or a count.
func whole(name string) func(*made, string) error {
	return func(f *made, value string) error {
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil || n < 0 {
			return fmt.Errorf("%s must be a whole number, and is %s", name, value)
		}
		f.schema[name] = n
		return nil
	}
}

func numeric(name string) func(*made, string) error {
	return func(f *made, value string) error {
		n, ok := numberOf(value)
		if !ok {
			return fmt.Errorf("%s must be a number, and is %s", name, value)
		}
		f.schema[name] = n
		return nil
	}
}

func setMultiple(f *made, value string) error {
	if n, ok := numberOf(value); ok && asFloat(n) <= 0 {
		return fmt.Errorf("multipleOf must be greater than 0, and is %s", value)
	}
	return numeric("multipleOf")(f, value)
}

func setDefault(f *made, value string) error { return f.setValue("default", value) }

func setEnum(f *made, value string) error {
	values, err := f.enumValues(value)
	if err != nil {
		return err
	}
	for i, one := range values {
		if slices.Contains(values[:i], one) {
			return fmt.Errorf("enum has %v twice", one)
		}
	}
	f.schema["enum"] = values
	return nil
}

// enumValues parses values of the field's type: separated by commas, or a list in JSON.
func (f *made) enumValues(value string) (values []any, err error) {
	if strings.HasPrefix(value, "[") {
		return f.enumList(value)
	}
	for one := range strings.SplitSeq(value, ",") {
		one = strings.TrimSpace(one)
		switch n, isNumber := numberOf(one); {
		case one == "":
			return nil, fmt.Errorf("enum has an empty value: %s", value)
		case f.schema["x-kubernetes-int-or-string"] == true && isWhole(n):
			values = append(values, n)
		case f.base == text:
			values = append(values, one)
		case !isNumber:
			return nil, fmt.Errorf("enum of a number has %s", one)
		default:
			values = append(values, n)
		}
	}
	return values, nil
}

func isWhole(n any) bool {
	_, ok := n.(int64)
	return ok
}

func (f *made) enumList(value string) (values []any, err error) {
	if err := json.Unmarshal([]byte(value), &values); err != nil {
		return nil, fmt.Errorf("enum must be values separated by commas, or a JSON list, and is %s", value)
	}
	if len(values) == 0 {
		return nil, errors.New("enum has no value: no object could have the field")
	}
	for i, one := range values {
		_, isText := one.(string)
		n, isNumber := one.(float64)
		switch mayBeNumber := f.base == number || f.schema["x-kubernetes-int-or-string"] == true; {
		case isNumber && mayBeNumber && n == float64(int64(n)):
			values[i] = int64(n)
		case isNumber && mayBeNumber, isText && f.base == text:
		case f.base == text:
			return nil, fmt.Errorf(`enum of a string has %v, which is none: write ["%v"]`, one, one)
		default:
			return nil, fmt.Errorf("enum of a number has %v", one)
		}
	}
	return values, nil
}

func setPattern(f *made, value string) error {
	if _, err := regexp.Compile(value); err != nil {
		return fmt.Errorf("pattern is no regular expression: %w", err)
	}
	f.schema["pattern"] = value
	return nil
}

// setFormat refuses a format that the API server does not know, because the API server would check nothing and warn.
func setFormat(f *made, value string) error {
	kind, _ := f.schema["type"].(string)
	of := &spec.Schema{SchemaProps: spec.SchemaProps{Format: value, Type: []string{kind}}}
	if len(validation.GetUnrecognizedFormats(of, environment.DefaultCompatibilityVersion())) == 0 {
		f.schema["format"] = value
		return nil
	}
	known := []string{"int32", "int64"}
	switch kind {
	case "integer":
	case "number":
		known = []string{"float", "double"}
	default:
		known = formats()
	}
	if near, ok := diagnostic.Nearest(value, known); ok {
		return fmt.Errorf("the API server has no format %q for %s; did you mean %q?", value, f.base, near)
	}
	return fmt.Errorf("the API server has no format %q for %s; it has %s", value, f.base, strings.Join(known, ", "))
}

// formats returns the formats of the types and other formats that the API server knows
// (https://github.com/kubernetes/apiextensions-apiserver/blob/master/pkg/apiserver/validation/formats.go).
func formats() []string {
	names := []string{"mac", "uuid3", "uuid4", "uuid5", "isbn", "creditcard", "ssn", "hexcolor", "rgbcolor", "k8s-short-name", "k8s-long-name"}
	for _, t := range Types() {
		if format, ok := t.schema["format"].(string); ok && t.base == text {
			names = append(names, format)
		}
	}
	return names
}

// setUnique makes a list a set. The API server compares its items as a whole, so they must be scalars.
func setUnique(f *made, _ string) error {
	items, _ := f.schema["items"].(map[string]any)
	kind, _ := items["type"].(string)
	isScalar := slices.Contains([]string{"string", "integer", "number", "boolean"}, kind) || items["x-kubernetes-int-or-string"] == true
	if !isScalar || items["nullable"] == true {
		return errors.New("uniqueItems is for a list of text, numbers or booleans: write uniqueBy=NAME for objects")
	}
	return f.setListType("set")
}

func setKeys(f *made, value string) error {
	items, _ := f.schema["items"].(map[string]any)
	fields, _ := items["properties"].(map[string]any)
	if len(fields) == 0 {
		return fmt.Errorf("uniqueBy is for a list of objects with fields, such as []Port with types: {Port: {%s: string | required}}", value)
	}
	required, _ := items["required"].([]any)
	var keys []any
	for key := range strings.SplitSeq(value, ",") {
		key = strings.TrimSpace(key)
		of, ok := fields[key].(map[string]any)
		switch {
		case !ok:
			if near, ok := diagnostic.Nearest(key, slices.Sorted(maps.Keys(fields))); ok {
				return fmt.Errorf("uniqueBy names %q, and the items have no field of that name; did you mean %q?", key, near)
			}
			return fmt.Errorf("uniqueBy names %q, and the items have no field of that name", key)
		case slices.Contains(keys, any(key)):
			return fmt.Errorf("uniqueBy names %s twice", key)
		case of["type"] == nil && of["x-kubernetes-int-or-string"] != true, of["type"] == "object", of["type"] == "array":
			return fmt.Errorf("the field %s of the items is a key: it must be text, a number or a boolean", key)
		case !slices.Contains(required, any(key)) && of["default"] == nil:
			return fmt.Errorf("the field %s of the items is a key: it must be required, or have a default", key)
		case of["nullable"] == true:
			return fmt.Errorf("the field %s of the items is a key: it cannot be nullable", key)
		}
		keys = append(keys, key)
	}
	f.schema["x-kubernetes-list-map-keys"] = keys
	return f.setListType("map")
}

// setListType sets how the API server merges the items of a list.
func (f *made) setListType(typ string) error {
	if is := f.schema["x-kubernetes-list-type"]; is != nil && is != typ {
		return errors.New("a list has uniqueItems, uniqueBy or atomic, and only one of them")
	}
	f.schema["x-kubernetes-list-type"] = typ
	return nil
}

func setAtomic(f *made, _ string) error {
	if f.base == list {
		return f.setListType("atomic")
	}
	f.schema["x-kubernetes-map-type"] = "atomic"
	return nil
}

// setEmbedded refuses fields that contradict those which the API server defines for every object.
func setEmbedded(f *made, _ string) error {
	fields, _ := f.schema["properties"].(map[string]any)
	for _, name := range []string{"apiVersion", "kind"} {
		if of, ok := fields[name].(map[string]any); ok && of["type"] != "string" {
			return fmt.Errorf("the %s of a whole object is text: write %s: string, or leave it out", name, name)
		}
	}
	if fields["metadata"] != nil {
		return errors.New("a whole object has metadata: leave it out, or write the field with openAPI to restrict its name")
	}
	f.schema["x-kubernetes-embedded-resource"] = true
	return nil
}

func setImmutable(f *made, _ string) error {
	f.immutable = true
	return f.needType("immutable")
}

func addValidation(f *made, value string) error {
	f.validate(map[string]any{"rule": value})
	return f.needType("validation")
}

func setMessage(f *made, value string) error {
	rules, _ := f.schema["x-kubernetes-validations"].([]any)
	if len(rules) == 0 {
		return fmt.Errorf("message belongs behind the validation that it is about")
	}
	last, _ := rules[len(rules)-1].(map[string]any)
	if last["message"] != nil {
		return errors.New("the validation has a message already")
	}
	last["message"] = value
	return nil
}
