package rules

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kanon.dev/kanon/kinds/openapi"
	"kanon.dev/kanon/rules/check"
	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/syntax"
	"kanon.dev/kanon/rules/yamltree"
)

// schemaOf is the schema of a kind; nil if none is known.
func (c *compiler) schemaOf(gvk schema.GroupVersionKind) *openapi.Schema {
	if gvk.Kind == "" {
		return nil
	}
	if c.opts.Schemas != nil {
		if s := c.opts.Schemas.Schema(gvk); s != nil {
			return s
		}
	}
	return c.certain[gvk]
}

// certainSchemas are what is known of kinds whose schema is not: what a rule makes of a Secret
// must not depend on whether the API server has answered yet.
func certainSchemas() map[schema.GroupVersionKind]*openapi.Schema {
	mapOf := func(format string) *openapi.Field {
		return &openapi.Field{
			Schema:    &openapi.Schema{Type: openapi.Map, Items: &openapi.Schema{Type: openapi.String, Format: format}},
			Defaulted: true, // so that nobody hears that it may be missing
		}
	}
	core := func(kind string) schema.GroupVersionKind { return schema.GroupVersionKind{Version: "v1", Kind: kind} }
	return map[schema.GroupVersionKind]*openapi.Schema{
		core("Secret"): {Type: openapi.Object, Open: true, Fields: map[string]*openapi.Field{
			"data": mapOf(openapi.FormatByte), "stringData": mapOf(""),
		}},
		core("ConfigMap"): {Type: openapi.Object, Open: true, Fields: map[string]*openapi.Field{
			"binaryData": mapOf(openapi.FormatByte),
		}},
	}
}

// kindType is the type of whole objects of a kind, or of lists of them.
func (c *compiler) kindType(gvk schema.GroupVersionKind, many bool) check.Type {
	object := c.types.Of(c.schemaOf(gvk))
	if many {
		return c.types.List(object)
	}
	return object
}

// Scalar is what is known of a scalar with expressions.
func (c *compiler) Scalar(n *yamltree.Node) (check.Scalar, bool) {
	r, ok := c.results[n]
	if !ok || r.wrong || r.x == nil {
		return check.Scalar{}, ok && !r.wrong
	}
	return check.Scalar{Whole: r.x.Expression, Text: r.x.run.Text, Offset: r.part.Offset, GoesInto: func(s *openapi.Schema) {
		for _, x := range append(r.others, r.x) {
			x.goesInto(s)
		}
	}}, true
}

// conform compares a template with the schema of its kind. shared is true if others write to the
// object as well. It comes after the template was compiled.
func (c *compiler) conform(template *yamltree.Node, gvk schema.GroupVersionKind, hasStatus, shared bool) {
	if s := c.schemaOf(gvk); s != nil {
		c.templateCheck(gvk, shared, hasStatus).Check(template, gvk.Kind, s)
	}
}

func (c *compiler) templateCheck(gvk schema.GroupVersionKind, shared, noStatus bool) check.Template {
	return check.Template{Compiler: c, Table: c.types, Source: c.rule.Source, BuiltIn: syntax.IsBuiltIn(gvk.Group), Shared: shared, NoStatus: noStatus}
}

// conformStatus compares spec.status with the schema of the parent's status. It comes after the
// status was compiled.
func (c *compiler) conformStatus(n *yamltree.Node, gvk schema.GroupVersionKind) {
	s := c.schemaOf(gvk)
	subresource := true
	if c.opts.Kinds != nil {
		kind, ok := c.opts.Kinds.Lookup(gvk)
		subresource = !ok || kind.HasStatus
	}
	lacks := s != nil && s.Type == openapi.Object && !s.Open && s.Fields["status"] == nil
	switch {
	case syntax.IsBuiltIn(gvk.Group) && (lacks || !subresource):
		c.ReportNode(n, diagnostic.CodeNoStatus, "a %s has no status", gvk.Kind)
		return
	case lacks:
		c.ReportNode(n, diagnostic.CodeNoStatus, "the schema of %s has no status, so the API server would drop this", gvk.Kind).
			WithHint("add status to the schema in the CustomResourceDefinition")
		return
	case !subresource:
		c.ReportNode(n, diagnostic.CodeNoSubresource, "%s has no status subresource, so this is written to the object itself, and whoever changes the object can change it", gvk.Kind).
			WithHint("add subresources: {status: {}} to the version in the CustomResourceDefinition")
	}
	if s != nil && s.Fields["status"] != nil {
		c.templateCheck(gvk, true, false).Check(n, gvk.Kind, s, "status")
	}
}

// conformConditions warns of spec.conditions that the engine cannot write.
func (c *compiler) conformConditions(gvk schema.GroupVersionKind) {
	if len(c.rule.Conditions) == 0 {
		return
	}
	pos := c.rule.Conditions[0].Pos
	if syntax.IsBuiltIn(gvk.Group) && gvk.Kind != "" {
		c.Report(pos, diagnostic.CodeNoConditions, "%s is built into Kubernetes, and Kanon writes no conditions there", gvk.Kind).
			WithHint("report it with spec.events")
		return
	}
	s := c.schemaOf(gvk)
	if s == nil || s.Type != openapi.Object || s.Open {
		return
	}
	path := "status"
	if status := s.Fields["status"]; status != nil {
		path = "status.conditions"
		if status.Schema.Type != openapi.Object || status.Schema.Open || status.Schema.Fields["conditions"] != nil {
			return
		}
	} else if c.rule.Status != nil {
		return // conformStatus reports it
	}
	c.Report(pos, diagnostic.CodeNoConditions, "the schema of %s has no %s, so the conditions are not written", gvk.Kind, path).
		WithHint("add status.conditions to the schema in the CustomResourceDefinition")
}
