package shortschema

import (
	"slices"
	"strings"

	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/yamltree"
)

func openAPIOf(n *yamltree.Node) *yamltree.Node {
	if n.Kind != yamltree.Mapping || len(n.Fields) != 1 {
		return nil
	}
	if asIs := n.Get("openAPI"); asIs != nil && asIs.Kind == yamltree.Mapping {
		return asIs
	}
	return nil
}

// isBareOpenAPI reports whether a mapping is an OpenAPI schema that is not below openAPI, and would be taken for an
// object with fields. It reports a finding if so.
func (r *Reader) isBareOpenAPI(n *yamltree.Node) bool { return r.isMisnamed(n) || r.isUnnamed(n) }

// isMisnamed reports whether the schema is below a key that is not quite openAPI. It reports a finding if so.
func (r *Reader) isMisnamed(n *yamltree.Node) bool {
	if n.Kind != yamltree.Mapping || len(n.Fields) != 1 || n.Fields[0].Name == "openAPI" || n.Fields[0].Value.Kind != yamltree.Mapping {
		return false
	}
	f := n.Fields[0]
	if !strings.EqualFold(f.Name, "openAPI") && f.Name != "openAPIV3Schema" {
		return false
	}
	found := r.report(r.source.At(f.Key), diagnostic.CodeShortType, "%s is no field that a schema is written below", f.Name)
	found.WithHint("write openAPI")
	found.WithEdit(r.source.At(f.Key), f.Name, "openAPI")
	return true
}

// isUnnamed reports whether the mapping is itself a schema, with a type and other keywords. It reports a finding if so.
func (r *Reader) isUnnamed(n *yamltree.Node) bool {
	if !hasTypeOfOpenAPI(n) || len(n.Fields) < 2 {
		return false
	}
	isSure := false
	for _, f := range n.Fields {
		if !slices.Contains(keywords, f.Name) && !strings.HasPrefix(f.Name, "x-kubernetes-") {
			return false
		}
		isSure = isSure || f.Name != "type" && !r.mayBeField(f)
	}
	if isSure {
		r.report(r.source.At(n), diagnostic.CodeShortType, "this is a schema of OpenAPI, and a mapping has fields here").
			WithHint(`write openAPI: and this below it, or the short form, such as "map[string]string" and string | maxLength=9`)
	}
	return isSure
}

// keywords are the fields of an OpenAPI schema.
var keywords = []string{ //nolint:gochecknoglobals // a table
	"type", "format", "description", "title", "default", "example", "enum", "nullable", "pattern", "minLength", "maxLength", "minimum", "maximum", "exclusiveMinimum",
	"exclusiveMaximum", "multipleOf", "items", "minItems", "maxItems", "uniqueItems", "properties", "additionalProperties", "required", "minProperties", "maxProperties",
	"allOf", "anyOf", "oneOf", "not", "externalDocs",
}

func hasTypeOfOpenAPI(n *yamltree.Node) bool {
	if n.Kind != yamltree.Mapping {
		return false
	}
	text, _ := n.Get("type").Text()
	return slices.Contains([]string{"object", "array", "string", "integer", "number", "boolean"}, text)
}

// mayBeField reports whether a field that is named like a keyword of OpenAPI can be a field in the short form.
func (r *Reader) mayBeField(f yamltree.Field) bool {
	switch text, isText := f.Value.Text(); {
	case isText:
		parts := scan(text)
		_, isType := typeOf(parts.typ)
		_, isOwn := r.own[parts.typ]
		return isType || isOwn || len(parts.markers) > 0 || strings.ContainsAny(parts.typ, "[]")
	case f.Value.Kind != yamltree.Mapping:
		return false
	case f.Name == "properties":
		return len(f.Value.Fields) == 0 || slices.ContainsFunc(f.Value.Fields, func(below yamltree.Field) bool { return !hasTypeOfOpenAPI(below.Value) })
	default:
		return !hasTypeOfOpenAPI(f.Value)
	}
}

func (r *Reader) openAPI(n *yamltree.Node, path []string) *made {
	schema, _ := n.Plain().(map[string]any)
	r.markAll(n, path)
	return &made{schema: schema, base: raw}
}
