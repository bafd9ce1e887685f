package shortschema

import (
	"slices"
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
