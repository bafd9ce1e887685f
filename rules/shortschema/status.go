package shortschema

import (
	"fmt"
	"slices"
	"strings"

	celescape "k8s.io/apiserver/pkg/cel"

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

// withReport returns the schema of a status, and adds what Kanon reports if it has no such fields: conditions and
// observedGeneration.
func withReport(status map[string]any) map[string]any {
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
	if properties["observedGeneration"] == nil {
		properties["observedGeneration"] = map[string]any{
			"type": "integer", "format": "int64", "description": "The generation of the object to which its conditions belong.",
		}
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

// fixedField is an immutable field in an object.
type fixedField struct {
	// path is its path below the object; empty for the object itself.
	path []string
	// at is the position of the marker in the rule.
	at diagnostic.Position
}

// addImmutable adds the immutable fields of a field to the object that has the field. The API server compares two
// values only where both exist, so there are two validations: one on each immutable field, and one on each object above
// it that forbids to remove a field on its path. The second is not needed for a field that is required or has a
// default: it can only be removed together with the object around it.
func (r *Reader) addImmutable(object *made, name string, f *made) {
	object.immutables = append(object.immutables, f.immutables...)
	fields := f.fixed
	if f.immutable {
		f.validate(map[string]any{"rule": "self == oldSelf", "message": name + " is immutable"})
		fixed := fixedField{at: f.marked["immutable"]}
		fields, object.immutables = []fixedField{fixed}, append(object.immutables, fixed.at)
	}
	if len(fields) == 0 {
		return
	}
	if isOptional := !f.required && f.schema["default"] == nil; isOptional || f.schema["nullable"] == true {
		if rule := r.staysRule(name, fields); rule != nil {
			object.validate(rule)
		}
	}
	for _, fixed := range fields {
		object.fixed = append(object.fixed, fixedField{path: append([]string{name}, fixed.path...), at: fixed.at})
	}
}

// staysRule returns the validation that forbids to remove a field once an immutable field in it has a value. If no
// expression can name these fields, it reports that and returns nil.
func (r *Reader) staysRule(name string, fields []fixedField) map[string]any {
	whole, subject := false, name
	var set []string
	for _, fixed := range fields {
		steps := append([]string{name}, fixed.path...)
		terms, wrong := hasTerms(steps)
		if wrong != "" {
			r.reportOnce(fixed.at, "immutable: the API server has no expression for %q, and so cannot see that it is removed", wrong).
				WithHint("give it a name of letters, digits, - and _ that does not begin with a digit, or make it required")
			return nil
		}
		whole = whole || len(fixed.path) == 0
		if len(fields) == 1 {
			subject = strings.Join(steps, ".")
		}
		if len(terms) > 1 {
			set = append(set, strings.Join(terms[1:], " && "))
		}
	}
	escaped, _ := celescape.Escape(name)
	rule := fmt.Sprintf("!has(oldSelf.%s) || has(self.%s)", escaped, escaped)
	if whole {
		return map[string]any{"rule": rule, "message": name + " is immutable, and cannot be removed"}
	}
	message := fmt.Sprintf("%s is immutable, so %s cannot be removed", subject, name)
	if len(fields) > 1 {
		message = name + " has immutable fields, and cannot be removed"
	}
	return map[string]any{"rule": rule + " || !(" + strings.Join(set, " || ") + ")", "message": message}
}

// hasTerms returns an expression for each field on a path: that it had a value before the update. wrong is a name that
// cannot be written in an expression.
func hasTerms(steps []string) (terms []string, wrong string) {
	path := []string{"oldSelf"}
	for _, step := range steps {
		escaped, ok := celescape.Escape(step)
		if !ok {
			return nil, step
		}
		path = append(path, escaped)
		terms = append(terms, "has("+strings.Join(path, ".")+")")
	}
	return terms, ""
}

// addImmutableItems adds the immutable fields of items, or of entries, to the list or map that has them. An immutable
// field may be removed together with its item or entry.
func (f *made) addImmutableItems(of *made) {
	f.immutables = of.immutables
	if !of.immutable {
		return
	}
	what := "an item"
	if f.base == mapping {
		what = "an entry"
	}
	of.validate(map[string]any{"rule": "self == oldSelf", "message": what + " is immutable"})
	f.immutables = append(slices.Clone(f.immutables), of.marked["immutable"])
}

// checkImmutables reports immutable fields below a value whose parts the API server cannot compare at an update.
func (r *Reader) checkImmutables(f *made, at diagnostic.Position) {
	if len(f.immutables) == 0 {
		return
	}
	switch {
	case f.base == list && f.schema["x-kubernetes-list-type"] != "map":
		r.reportOnce(f.immutables[0], "immutable is in the items of a list without uniqueBy: the API server does not know which item was which").
			WithRelated(at, "the list is here").
			WithHint("write uniqueBy=NAME behind the list, or immutable there and not here")
	case f.schema["x-kubernetes-map-type"] == "atomic":
		r.reportOnce(f.immutables[0], "immutable is in an atomic value: the API server does not compare its parts").
			WithRelated(at, "the atomic value is here").
			WithHint("remove atomic, or write immutable behind the value and not here")
	}
}

// reportOnce reports a problem with a marker once for each position: a type's marker applies to all fields of the type.
func (r *Reader) reportOnce(at diagnostic.Position, format string, args ...any) *diagnostic.Finding {
	if r.reported[at] {
		return &diagnostic.Finding{}
	}
	r.reported[at] = true
	return r.report(at, diagnostic.CodeShortMarker, format, args...)
}
