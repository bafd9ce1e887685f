package rules

import (
	"github.com/google/cel-go/common/ast"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kanon.dev/kanon/kinds/openapi"
	"kanon.dev/kanon/rules/check"
	"kanon.dev/kanon/rules/conform"
	"kanon.dev/kanon/rules/flow"
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

// certainSchemas are the parts of built-in schemas that a rule's meaning depends on. How base64 in a Secret is read
// must not depend on whether the API server has sent its schemas yet.
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

// kindType is the type of the objects of a kind, or of lists of them.
func (c *compiler) kindType(gvk schema.GroupVersionKind, many bool) check.Type {
	object := c.types.Of(c.schemaOf(gvk))
	if many {
		return c.types.List(object)
	}
	return object
}

// Scalar implements conform.Compiler.
func (c *compiler) Scalar(n *yamltree.Node) (conform.Scalar, bool) {
	r, ok := c.results[n]
	if !ok || r.wrong || r.x == nil {
		return conform.Scalar{}, ok && !r.wrong
	}
	return conform.Scalar{Whole: r.x.Expression, Text: r.x.run.Text, Offset: r.part.Offset, Variable: c.variableOf(r.x.expr.Root()), GoesInto: func(s *openapi.Schema) {
		for _, x := range append(r.others, r.x) {
			x.goesInto(s)
		}
	}}, true
}

// variableOf is the value of the variable that an expression such as variables.size consists of; nil for every other
// expression.
func (c *compiler) variableOf(root ast.Expr) *yamltree.Node {
	if root.Kind() != ast.SelectKind {
		return nil
	}
	return c.variableValue(flow.WholeVariable(root))
}

// conform compares a compiled template with the schema of its kind. shared is true if others write to the object as
// well.
func (c *compiler) conform(template *yamltree.Node, gvk schema.GroupVersionKind, hasStatus, shared bool) {
	if s := c.schemaOf(gvk); s != nil {
		c.templateCheck(gvk, shared, hasStatus).Check(template, gvk.Kind, s)
	}
}

func (c *compiler) templateCheck(gvk schema.GroupVersionKind, shared, hasStatus bool) conform.Template {
	return conform.Template{Compiler: c, Table: c.types, Source: c.rule.Source, BuiltIn: syntax.IsBuiltIn(gvk.Group), Shared: shared, DropsStatus: hasStatus}
}

// conformParent compares what the rule reports on its parents with the schema of their kind.
func (c *compiler) conformParent() conform.Parent {
	gvk, subresource := c.rule.Parent.GVK, true
	if c.opts.Kinds != nil {
		kind, ok := c.opts.Kinds.Lookup(gvk)
		subresource = !ok || kind.HasStatus
	}
	return conform.Parent{
		Reporter: c.Reporter, Template: c.templateCheck(gvk, true, false), Rule: c.rule, Schema: c.schemaOf(gvk), Subresource: subresource,
	}
}
