package shortschema

import (
	"slices"
	"strings"

	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/yamltree"
)

// Leaf returns the schema of a node of a template, at a path, that is not a mapping with fields.
type Leaf func(n *yamltree.Node, path []string) map[string]any

// Set adds to a schema, which may be nil, the fields that a template sets and the schema lacks: an object for each
// mapping, and the result of leaf for every other node. path is the place of the schema in the definition.
func (r *Reader) Set(schema map[string]any, template *yamltree.Node, leaf Leaf, path ...string) map[string]any {
	return r.set(schema, template, leaf, nil, path)
}

// set is Set for the part of the template at a path.
func (r *Reader) set(schema map[string]any, template *yamltree.Node, leaf Leaf, at, path []string) map[string]any {
	if schema == nil {
		r.Mark(r.source.At(template), path...)
	}
	if template.Kind != yamltree.Mapping || len(template.Fields) == 0 || slices.ContainsFunc(template.Fields, isComputed) {
		if schema == nil {
			schema = leaf(template, at)
		}
		return schema
	}
	if schema == nil {
		schema = map[string]any{"type": "object"}
	}
	if schema["type"] != "object" || schema["additionalProperties"] != nil || schema["x-kubernetes-preserve-unknown-fields"] == true {
		return schema
	}
	properties, _ := schema["properties"].(map[string]any)
	if properties == nil {
		properties = map[string]any{}
		schema["properties"] = properties
	}
	for _, f := range template.Fields {
		known, _ := properties[f.Name].(map[string]any)
		properties[f.Name] = r.set(known, f.Value, leaf, append(slices.Clone(at), f.Name), append(slices.Clone(path), "properties", f.Name))
	}
	return schema
}

// isComputed reports whether the name of a field comes from an expression.
func isComputed(f yamltree.Field) bool { return strings.Contains(f.Name, "${") }

// checkConditions refuses a schema of status.conditions that does not take the conditions that Kanon writes.
func (r *Reader) checkConditions(n *yamltree.Node, status *made) {
	properties, _ := status.schema["properties"].(map[string]any)
	given, ok := properties["conditions"].(map[string]any)
	if !ok || hasRoom(given, conditions()) {
		return
	}
	if root := openAPIOf(n); root != nil {
		n = root.Get("properties")
	}
	at := n
	for _, f := range n.Fields {
		if name, _, _ := strings.Cut(f.Name, "|"); strings.TrimSpace(name) == "conditions" {
			at = f.Key
		}
	}
	r.report(r.source.At(at), diagnostic.CodeShortType, "status.conditions is the list in which Kanon reports on the object, and this has no room for that").
		WithHint("leave it out: the definition has conditions, those of spec.conditions too")
}

// hasRoom reports whether a schema has all fields of the wanted schema, with the same types.
func hasRoom(schema, wanted map[string]any) bool {
	if schema["x-kubernetes-preserve-unknown-fields"] == true && (schema["type"] == nil || schema["type"] == wanted["type"]) {
		return true
	}
	if schema["type"] != wanted["type"] {
		return false
	}
	if items, ok := wanted["items"].(map[string]any); ok {
		of, _ := schema["items"].(map[string]any)
		return hasRoom(of, items)
	}
	properties, _ := wanted["properties"].(map[string]any)
	given, _ := schema["properties"].(map[string]any)
	for name, of := range properties {
		below, _ := of.(map[string]any)
		field, _ := given[name].(map[string]any)
		if !hasRoom(field, below) {
			return false
		}
	}
	return true
}

// withConditions returns the schema of a status, and adds conditions if it has none.
func withConditions(status map[string]any) map[string]any {
	if status == nil {
		status = map[string]any{"type": "object"}
	}
	if status["type"] != "object" || status["additionalProperties"] != nil { // one expression renders the whole status
		status = map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true}
	}
	properties, _ := status["properties"].(map[string]any)
	if properties == nil {
		properties = map[string]any{}
		status["properties"] = properties
	}
	if properties["conditions"] == nil {
		properties["conditions"] = conditions()
	}
	return status
}

// conditions returns the schema of a list of metav1.Condition
// (https://github.com/kubernetes/apimachinery/blob/master/pkg/apis/meta/v1/types.go).
func conditions() map[string]any {
	text := func(more map[string]any) map[string]any {
		more["type"] = "string"
		return more
	}
	return map[string]any{
		"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": []any{"type"},
		"description": "What Kanon and the rule report on the object.",
		"items": map[string]any{
			"type": "object", "required": []any{"lastTransitionTime", "message", "reason", "status", "type"},
			"properties": map[string]any{
				"type":               text(map[string]any{"maxLength": int64(316)}),
				"status":             text(map[string]any{"enum": []any{"True", "False", "Unknown"}}),
				"reason":             text(map[string]any{"minLength": int64(1), "maxLength": int64(1024)}),
				"message":            text(map[string]any{"maxLength": int64(32768)}),
				"lastTransitionTime": text(map[string]any{"format": "date-time"}),
				"observedGeneration": map[string]any{"type": "integer", "format": "int64", "minimum": int64(0)},
			},
		},
	}
}
