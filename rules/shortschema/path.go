package shortschema

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/client-go/util/jsonpath"
)

// Found is what a version's schema has at the path of a column or of scale.
type Found struct {
	// Type is the type of the values, as in Column. It is empty if they can have any type, or do not exist.
	Type string
	// Wrong says what is wrong with the path at the byte Offset, if anything.
	Wrong  string
	Offset int
	// Name is the name of a field that does not exist, and Names are the names of those that do.
	Name  string
	Names []string
}

// Find follows a JSONPath of kubectl, such as .status.conditions[?(@.type=="Ready")].status.
func (v *Version) Find(path string) Found {
	if !strings.HasPrefix(path, ".") { // kubectl does not require the dot, but the API server does
		return Found{Wrong: "is no path of kubectl: it does not begin with a dot, as .spec does"}
	}
	parser, err := jsonpath.Parse("path", "{"+path+"}")
	if err != nil {
		return Found{Wrong: "is no path of kubectl: " + err.Error()}
	}
	f := finder{path: path}
	root := v.schema()
	properties, _ := root["properties"].(map[string]any)
	properties["metadata"] = objectMeta()
	if end := f.follow(parser.Root, root); end["type"] != nil {
		f.found.Type = columnType(end)
	}
	return f.found
}

// finder follows a path.
type finder struct {
	path string
	// at is the byte of the path up to which it was followed.
	at    int
	found Found
}

// follow returns the schema of the value that the nodes lead to; nil if it can be anything, or does not exist.
func (f *finder) follow(nodes *jsonpath.ListNode, schema map[string]any) map[string]any {
	for _, node := range nodes.Nodes {
		if schema == nil {
			return nil
		}
		switch node := node.(type) {
		case *jsonpath.ListNode:
			schema = f.follow(node, schema)
		case *jsonpath.FieldNode:
			schema = f.field(node.Value, schema)
		case *jsonpath.ArrayNode:
			schema = f.items(schema)
		case *jsonpath.FilterNode:
			if schema = f.items(schema); schema != nil {
				f.follow(node.Left, schema)
			}
		case *jsonpath.WildcardNode:
			schema = below(schema)
		default: // it leads to values of several types
			return nil
		}
		if f.found.Wrong != "" {
			return nil
		}
	}
	return schema
}

// field returns the schema of a field; nil if its value can be anything, or the field does not exist.
func (f *finder) field(name string, schema map[string]any) map[string]any {
	if name == "" {
		return schema
	}
	offset := max(strings.Index(f.path[f.at:], name), 0) + f.at // a name with a \ in it is not found
	f.at = offset + len(name)
	properties, _ := schema["properties"].(map[string]any)
	if properties[name] != nil {
		field, _ := properties[name].(map[string]any)
		return field
	}
	if entries, ok := schema["additionalProperties"].(map[string]any); ok {
		return entries
	}
	if isOpen(schema) {
		return nil
	}
	f.found = Found{Wrong: "leads to no field of the schema", Offset: offset, Name: name, Names: slices.Sorted(maps.Keys(properties))}
	return nil
}

// isOpen reports whether objects can have fields that the schema does not name.
func isOpen(schema map[string]any) bool {
	allows, _ := schema["additionalProperties"].(bool)
	return allows || schema["x-kubernetes-preserve-unknown-fields"] == true || schema["x-kubernetes-embedded-resource"] == true
}

// items returns the schema of a list's items; nil if they can be anything, or the value is not a list.
func (f *finder) items(schema map[string]any) map[string]any {
	if items, ok := schema["items"].(map[string]any); ok {
		return items
	}
	if schema["type"] != nil && schema["type"] != "array" {
		offset := max(strings.IndexByte(f.path[f.at:], '['), 0) + f.at
		f.found = Found{Wrong: "takes an item of what is no list", Offset: offset}
	}
	return nil
}

// below returns the schema of the items or entries of a value; nil if they have no common one.
func below(schema map[string]any) map[string]any {
	for _, name := range []string{"items", "additionalProperties"} {
		if of, ok := schema[name].(map[string]any); ok {
			return of
		}
	}
	return nil
}

// objectMeta returns the schema of metadata, as far as a column can show it
// (https://github.com/kubernetes/apimachinery/blob/master/pkg/apis/meta/v1/types.go).
func objectMeta() map[string]any {
	text := map[string]any{"type": "string"}
	number := map[string]any{"type": "integer"}
	anything := map[string]any{"type": "array", "items": map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true}}
	return map[string]any{"type": "object", "properties": map[string]any{
		"name": text, "generateName": text, "namespace": text, "uid": text, "resourceVersion": text, "selfLink": text,
		"generation": number, "deletionGracePeriodSeconds": number,
		"creationTimestamp": formatted("date-time"), "deletionTimestamp": formatted("date-time"),
		"labels":          map[string]any{"type": "object", "additionalProperties": text},
		"annotations":     map[string]any{"type": "object", "additionalProperties": text},
		"finalizers":      map[string]any{"type": "array", "items": text},
		"ownerReferences": anything, "managedFields": anything,
	}}
}
