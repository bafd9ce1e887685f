package rules

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kanon.dev/kanon/openapi"
	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/syntax"
	"kanon.dev/kanon/rules/yamltree"
)

// conformStatus compares spec.status with the schema of the parent's status. It
// comes after the status was compiled.
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
		c.report(c.rule.Source.At(n), diagnostic.CodeNoStatus, "a %s has no status", gvk.Kind)
		return
	case lacks:
		c.report(c.rule.Source.At(n), diagnostic.CodeNoStatus, "the schema of %s has no status, so the API server would drop this", gvk.Kind).
			WithHint("add status to the schema in the CustomResourceDefinition")
		return
	case !subresource:
		c.report(c.rule.Source.At(n), diagnostic.CodeNoSubresource, "%s has no status subresource, so this is written to the object itself, and whoever changes the object can change it", gvk.Kind).
			WithHint("add subresources: {status: {}} to the version in the CustomResourceDefinition")
	}
	if s == nil || s.Fields["status"] == nil {
		return
	}
	f := &conformer{c: c, builtIn: syntax.IsBuiltIn(gvk.Group), shared: true}
	f.value(n, s.Fields["status"].Schema, (&fieldPath{name: gvk.Kind}).to("status", s))
}

// conformConditions warns of spec.conditions that the engine cannot write.
func (c *compiler) conformConditions(gvk schema.GroupVersionKind) {
	if len(c.rule.Conditions) == 0 {
		return
	}
	pos := c.rule.Conditions[0].Pos
	if syntax.IsBuiltIn(gvk.Group) && gvk.Kind != "" {
		c.report(pos, diagnostic.CodeNoConditions, "%s is built into Kubernetes, and Kanon writes no conditions there", gvk.Kind).
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
		return // conformStatus says it
	}
	c.report(pos, diagnostic.CodeNoConditions, "the schema of %s has no %s, so the conditions are not written", gvk.Kind, path).
		WithHint("add status.conditions to the schema in the CustomResourceDefinition")
}
