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
	"sigs.k8s.io/yaml"

	"kanon.dev/kanon/rules/diagnostic"
)

// Marker is something that narrows or explains a field.
type Marker struct {
	Name string
	// Value is an example of its value; empty for one that is true or false, and true if nothing is written.
	Value string
	// Doc explains it, in Markdown.
	Doc string
	// of are the types that it is for; empty: all.
	of []base
	// set writes it to the schema of a field.
	set func(f *made, value string) error
}

// For are the types that the marker is for, as the reference has them.
func (m *Marker) For() []string {
	if len(m.of) == 0 {
		return []string{"all"}
	}
	words := make([]string, len(m.of))
	for i, of := range m.of {
		words[i] = [...]string{"text", "numbers", "booleans", "lists", "maps", "objects", "any value", "OpenAPI"}[of]
	}
	return words
}

// isFlag tells whether the marker is true or false.
func (m *Marker) isFlag() bool { return m.Value == "" }

// made is the schema of a field while it is made.
type made struct {
	schema map[string]any
	base   base
	// required is true if objects must have the field, and immutable if it never changes once it is set.
	required, immutable bool
	// column is the heading of the field's column; empty: it has none.
	column string
	// marked has where the rule has the markers, by their names.
	marked map[string]diagnostic.Position
	// fixed are the immutable fields in an object that go with it, and immutables is where the markers of all immutable fields are.
	fixed      []fixedField
	immutables []diagnostic.Position
}

// Markers lists all markers.
func Markers() []Marker {
	return []Marker{
		{"required", "", "An object must have the field.", nil, func(f *made, _ string) error { f.required = true; return nil }},
		{"default", "1", "The value of a field that is left out. That of an object, a map or a list is JSON.", nil, setDefault},
		{"description", `"what it is for"`, "The text that `kubectl explain` shows. Default: the comment of the field.", nil, keep("description")},
		{"title", `"Replicas"`, "A name for user interfaces.", nil, keep("title")},
		{"example", "3", "A value, for documentation.", nil, func(f *made, value string) error { return f.setValue("example", value) }},
		{"enum", `"web,worker"`, "The values that are allowed, separated by commas, or as a JSON list.", []base{text, number}, setEnum},
		{"pattern", `"^[a-z]+$"`, "A regular expression that the text must match.", []base{text}, setPattern},
		{"format", "hostname", "A format that the API server checks.", []base{text, number}, setFormat},
		{"minLength", "1", "The least number of characters.", []base{text}, whole("minLength")},
		{"maxLength", "63", "The greatest number of characters.", []base{text}, whole("maxLength")},
		{"minimum", "0", "The least value.", []base{number}, numeric("minimum")},
		{"maximum", "100", "The greatest value.", []base{number}, numeric("maximum")},
		{"exclusiveMinimum", "", "The value is greater than `minimum`.", []base{number}, flag("exclusiveMinimum")},
		{"exclusiveMaximum", "", "The value is less than `maximum`.", []base{number}, flag("exclusiveMaximum")},
		{"multipleOf", "5", "The value is a multiple of this.", []base{number}, setMultiple},
		{"minItems", "1", "The least number of items.", []base{list}, whole("minItems")},
		{"maxItems", "10", "The greatest number of items.", []base{list}, whole("maxItems")},
		{"uniqueItems", "", "No two items are the same. The items are text, numbers or booleans, and a set.", []base{list}, setUnique},
		{"uniqueBy", "name", "No two items have the same value of this field, or of these fields, separated by commas. They are the keys of the list.", []base{list}, setKeys},
		{"atomic", "", "Whoever applies a part of it has all of it.", []base{list, mapping, object}, setAtomic},
		{"minProperties", "1", "The least number of entries.", []base{mapping, object}, whole("minProperties")},
		{"maxProperties", "10", "The greatest number of entries.", []base{mapping, object}, whole("maxProperties")},
		{"nullable", "", "`null` is a value of its own.", nil, flag("nullable")},
		{"immutable", "", "The value never changes once it is set, and is not removed.", nil, setImmutable},
		{"validation", `"self.size() > 2"`, "An expression in CEL that must be true of `self`.", nil, addValidation},
		{"message", `"too short"`, "What the API server says if the `validation` before it is not true.", nil, setMessage},
		{"preserveUnknownFields", "", "Fields that the schema does not name are kept.", []base{object, anything}, flag("x-kubernetes-preserve-unknown-fields")},
		{"embeddedResource", "", "It is a whole object of Kubernetes, with `apiVersion` and `kind`.", []base{object}, setEmbedded},
		{"printColumn", `"IMAGE"`, "`kubectl get` shows the field in a column with this heading.", []base{text, number, boolean}, func(f *made, value string) error { f.column = value; return nil }},
	}
}

// markerOf finds a marker by its name.
func markerOf(name string) (*Marker, bool) {
	markers := Markers()
	i := slices.IndexFunc(markers, func(m Marker) bool { return m.Name == name })
	if i < 0 {
		return nil, false
	}
	return &markers[i], true
}

// repeatable are the markers of which a field can have several.
var repeatable = []string{"validation", "message"} //nolint:gochecknoglobals // a table

// mark notes where the rule has a marker.
func (f *made) mark(name string, at diagnostic.Position) {
	if f.marked == nil {
		f.marked = make(map[string]diagnostic.Position)
	}
	f.marked[name] = at
}

// unset takes back what the type of a field says of each field, and not of its values.
func (f *made) unset(name string) {
	switch name {
	case "required":
		f.required = false
	case "immutable":
		f.immutable = false
	}
}

// foreignMarkers are the names that other languages have for a marker.
var foreignMarkers = map[string]string{ //nolint:gochecknoglobals // a table
	"min": "minimum", "max": "maximum", "optional": "required=false", "listMapKey": "uniqueBy", "listType": "uniqueItems, uniqueBy or atomic",
	"regex": "pattern", "doc": "description", "desc": "description", "comment": "description", "readOnly": "immutable", "oneOf": "enum",
	"values": "enum", "unique": "uniqueItems", "cel": "validation", "rule": "validation", "additionalProperties": "map[string]TYPE as the type",
	"printcolumn": "printColumn", "column": "printColumn",
}

func keep(name string) func(*made, string) error {
	return func(f *made, value string) error { f.schema[name] = value; return nil }
}

func flag(name string) func(*made, string) error {
	return func(f *made, _ string) error { f.schema[name] = true; return nil }
}

// setUnique makes a list a set, whose items the API server compares as a whole.
func setUnique(f *made, _ string) error {
	items, _ := f.schema["items"].(map[string]any)
	kind, _ := items["type"].(string)
	isScalar := slices.Contains([]string{"string", "integer", "number", "boolean"}, kind) || items["x-kubernetes-int-or-string"] == true
	if !isScalar || items["nullable"] == true {
		return errors.New("uniqueItems is for a list of text, numbers or booleans: write uniqueBy=NAME for objects")
	}
	return f.setListType("set")
}

// setListType says how the items of a list are told apart.
func (f *made) setListType(typ string) error {
	if is := f.schema["x-kubernetes-list-type"]; is != nil && is != typ {
		return errors.New("a list has uniqueItems, uniqueBy or atomic, and only one of them")
	}
	f.schema["x-kubernetes-list-type"] = typ
	return nil
}

func setImmutable(f *made, _ string) error {
	f.immutable = true
	return f.needType("immutable")
}

// needType refuses an expression about a value without a type: the API server cannot compare such values.
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

// whole sets a number of things.
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

// numberOf reads a number of JSON.
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

// setValue writes a value of the field's type.
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

// valueOf reads a value of a type of OpenAPI. The error says what it must be.
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

// enumValues reads values of the field's type: separated by commas, or a list in JSON.
func (f *made) enumValues(value string) (values []any, err error) {
	if strings.HasPrefix(value, "[") {
		return f.enumList(value)
	}
	for one := range strings.SplitSeq(value, ",") {
		one = strings.TrimSpace(one)
		switch n, isNumber := numberOf(one); {
		case one == "":
			return nil, fmt.Errorf("enum has an empty value: %s", value)
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

// setFormat refuses a format that the API server does not know: it would check nothing, and warn of it.
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

// formats are those of the types, and others of the API server
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

func setAtomic(f *made, _ string) error {
	if f.base == list {
		return f.setListType("atomic")
	}
	f.schema["x-kubernetes-map-type"] = "atomic"
	return nil
}

// setEmbedded refuses fields that the API server knows of every object, if they are something else there.
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

func addValidation(f *made, value string) error {
	f.validate(map[string]any{"rule": value})
	return f.needType("validation")
}

func (f *made) validate(rule map[string]any) {
	rules, _ := f.schema["x-kubernetes-validations"].([]any)
	f.schema["x-kubernetes-validations"] = append(rules, rule)
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
