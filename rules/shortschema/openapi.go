package shortschema

import (
	"strings"

	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/yamltree"
)

// openAPIOf is the schema that is written as it is; nil if the node is something else.
func openAPIOf(n *yamltree.Node) *yamltree.Node {
	if n.Kind != yamltree.Mapping || len(n.Fields) != 1 {
		return nil
	}
	if asIs := n.Get("openAPI"); asIs != nil && asIs.Kind == yamltree.Mapping {
		return asIs
	}
	return nil
}

// isMisnamed reports a mapping that means OpenAPI and calls it another name, as it would be an object with one field.
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

// openAPI is a schema that is written as it is.
func (r *Reader) openAPI(n *yamltree.Node, path []string) *made {
	schema, _ := n.Plain().(map[string]any)
	r.markAll(n, path)
	return &made{schema: schema, base: raw}
}
