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
	"kanon.dev/kanon/rules/yamltree"
)

// Marker is something that narrows or explains a field.
type Marker struct {
	Name string
	// Value is an example of its value. It is empty for a flag: a boolean that is true if no value is written.
	Value string
	// Doc explains it, in Markdown.
	Doc string
	// of has the types that it is for; empty means all.
	of []base
	// set sets it in the schema of a field.
	set func(f *made, value string) error
}

// For returns the types that the marker is for, in the words of the reference.
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

// isFlag reports whether the marker is a boolean.
func (m *Marker) isFlag() bool { return m.Value == "" }

// Markers returns all markers.
func Markers() []Marker {
	return []Marker{
		{"required", "", "An object must have the field.", nil, func(f *made, _ string) error { f.required = true; return nil }},
		{"default", "1", "The value of a field that is left out. That of an object, a map or a list is JSON. `null`: there is none.", nil, setDefault},
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

// repeatable are the markers that a field can have several times.
var repeatable = []string{"validation", "message"} //nolint:gochecknoglobals // a table

// foreignMarkers maps names of markers in other languages to those of this one.
var foreignMarkers = map[string]string{ //nolint:gochecknoglobals // a table
	"min": "minimum", "max": "maximum", "optional": "required=false", "listMapKey": "uniqueBy", "listType": "uniqueItems, uniqueBy or atomic",
	"regex": "pattern", "doc": "description", "desc": "description", "comment": "description", "readOnly": "immutable", "oneOf": "enum",
	"values": "enum", "unique": "uniqueItems", "cel": "validation", "rule": "validation", "additionalProperties": "map[string]TYPE as the type",
	"printcolumn": "printColumn", "column": "printColumn",
}

// applyAll applies the markers of a field to its schema. They override those of the field's type, which were applied
// before. A marker that is given twice is reported, unless it is repeatable.
func (r *Reader) applyAll(n *yamltree.Node, f *made, markers []marker, path []string) {
	for i, m := range markers {
		isSame := func(other marker) bool { return other.name == m.name }
		if !slices.Contains(repeatable, m.name) && slices.ContainsFunc(markers[:i], isSame) {
			r.reportPart(n, m.at, m.name, "%s is given twice", m.name).WithHint("remove one of them")
			continue
		}
		r.apply(n, f, m, path)
	}
}

// reportPart reports a problem with a part of a scalar's text, which begins at offset.
func (r *Reader) reportPart(n *yamltree.Node, offset int, part, format string, args ...any) *diagnostic.Finding {
	found := r.report(r.source.Within(n, offset), diagnostic.CodeShortMarker, format, args...)
	found.Length = r.source.Span(n, offset, len(part))
	return found
}

// apply applies a marker to a field.
func (r *Reader) apply(n *yamltree.Node, f *made, m marker, path []string) {
	known, ok := markerOf(m.name)
	if !ok {
		r.reportUnknown(n, m)
		return
	}
	if len(known.of) > 0 && !slices.Contains(known.of, f.base) {
		r.reportUnfit(n, f, m, known)
		return
	}
	switch {
	case known.isFlag() && m.hasValue:
		is, err := strconv.ParseBool(m.value)
		if err != nil {
			r.reportPart(n, m.valueAt, m.value, "%s is true or false, and not %q", m.name, m.value)
		}
		if !is {
			f.unset(m.name)
			return
		}
	case !known.isFlag() && (!m.hasValue || m.value == "" && !m.quoted):
		r.reportPart(n, m.at, m.name, "%s has no value", m.name).WithHint("write %s=%s", m.name, known.Value)
		return
	case m.name == "default" && m.value == "null" && !m.quoted: // for the API server too, null means no default
		f.unset(m.name)
		return
	case m.inSingleQuotes():
		r.reportPart(n, m.valueAt, m.value, "single quotes would be a part of the value %s", m.value).
			WithHint("write %s=%q", m.name, m.value[1:len(m.value)-1])
		return
	}
	f.mark(m.name, r.source.Within(n, m.at))
	if err := known.set(f, m.value); err != nil {
		r.reportPart(n, m.valueAt, m.value, "%s", err.Error())
		return
	}
	r.Mark(r.source.Within(n, m.valueAt), append(slices.Clone(path), m.name)...)
	if rules, _ := f.schema["x-kubernetes-validations"].([]any); m.name == "validation" {
		start := m.valueAt
		if m.quoted {
			start++
		}
		r.MarkText(n, start, append(slices.Clone(path), "x-kubernetes-validations", strconv.Itoa(len(rules)-1), "rule")...)
	}
}

// reportUnfit reports a marker that is not for the type of the field.
func (r *Reader) reportUnfit(n *yamltree.Node, f *made, m marker, known *Marker) {
	words := make([]string, len(known.of))
	for i, of := range known.of {
		words[i] = of.String()
	}
	found := r.reportPart(n, m.at, m.name, "%s is for %s, and this is %s", m.name, strings.Join(words, " or "), f.base)
	switch {
	case f.base == raw:
		found.WithHint("write it below openAPI")
	case f.base == boolean && m.name == "enum":
		found.WithHint("write {openAPI: {type: boolean, enum: [true]}}")
	}
}

// reportUnknown reports an unknown marker.
func (r *Reader) reportUnknown(n *yamltree.Node, m marker) {
	found := r.reportPart(n, m.at, m.name, "unknown marker %q", m.name)
	var names []string
	for _, each := range Markers() {
		names = append(names, each.Name)
	}
	if other := foreignMarkers[m.name]; other != "" {
		found.WithHint("write %s", other)
	} else {
		found.Suggest(m.name, names)
	}
}

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
