package rules

import (
	"fmt"
	"slices"
	"strings"

	"github.com/google/cel-go/common/types"

	"kanon.dev/kanon/restmapping/openapi"
	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/flow"
	"kanon.dev/kanon/rules/program"
	"kanon.dev/kanon/rules/syntax"
	"kanon.dev/kanon/rules/yamltree"
)

// status compiles spec.status. Its leaves may read children that are skipped.
func (c *compiler) status(all *flow.Uses) program.Template {
	u := &flow.Uses{}
	n := c.rule.Status
	c.results = map[*yamltree.Node]result{}
	value, from := c.template(n, c.renderedScope("spec.status"), u)
	all.Add(u)
	if x, ok := value.(program.Expr); ok {
		s, _ := n.Text()
		if !from.typ.CanBe(types.MapKind, types.StructKind, types.NullTypeKind) {
			c.ReportSpan(n, strings.Index(s, x.X.Text), len(x.X.Text), diagnostic.CodeResultType, "spec.status must be a map, and this gives %s", from.typ.Inner())
		}
	}
	if _, ok := value.(program.Text); ok {
		c.ReportNode(n, diagnostic.CodeNotExpression, "spec.status must be a mapping, or an expression that gives one")
	}
	c.checkStatusSchema()
	c.checkRest(u)
	return value
}

// checkRest reports where spec.status reads what each write of the status changes: then it is written without end.
func (c *compiler) checkRest(u *flow.Uses) {
	kind := c.rule.Parent.GVK.Kind
	for _, read := range u.Versions {
		switch {
		case read.Name != "generation":
			c.Report(read.Pos, diagnostic.CodeRestlessStatus, "each write of the status changes metadata.%s, so the status would be written again and again", read.Name).
				WithHint("read metadata.generation, which changes with the spec, or leave it out")
		case !c.hasStatusSubresource():
			c.Report(read.Pos, diagnostic.CodeRestlessStatus,
				"%s has no status subresource, so each write of the status changes metadata.generation, and the status would be written again and again", kind).
				WithHint("add subresources: {status: {}} to the version in the CustomResourceDefinition, or leave it out")
		}
	}
}

// ownReads records what of the parent's own status and version the rule reads. It leaves out spec.finalize: the engine
// drops no event of a parent that is being deleted.
func (c *compiler) ownReads(p *program.Program, all, rest *flow.Uses) {
	own := all.Own
	own.Add(rest.Own)
	for _, r := range c.readers {
		own.Add(r.Own)
	}
	p.ReadsStatus, p.ReadsVersion = own.Status || looksUpParents(p), own.Version
}

func looksUpParents(p *program.Program) bool {
	return slices.ContainsFunc(p.Lookups, func(l *program.Lookup) bool { return l.GVK.GroupKind() == p.Parent.GVK.GroupKind() })
}

func (c *compiler) conditions() []program.ConditionTemplate {
	out := make([]program.ConditionTemplate, len(c.rule.Conditions))
	for i := range c.rule.Conditions {
		spec := &c.rule.Conditions[i]
		path := fmt.Sprintf("spec.conditions[%d]", spec.Index)
		by := &reader{Label: "the condition " + spec.Type, Bare: true}
		field := func(name string, n *yamltree.Node, f form) program.Template {
			return c.field(n, c.renderedScope(path+"."+name), &by.Uses, f)
		}
		out[i] = program.ConditionTemplate{
			Type: spec.Type, Path: fmt.Sprintf("conditions[%s]", spec.Type),
			Status:  field("status", spec.Status, conditionStatus()),
			Reason:  field("reason", spec.Reason, reason(syntax.MaxConditionReason)),
			Message: field("message", spec.Message, message()),
		}
		c.readers = append(c.readers, by)
		if c.keepsCondition(spec.Type) {
			c.Report(spec.Pos, diagnostic.CodeReservedName, "spec.conditions: Kanon itself keeps the condition %s", spec.Type).
				WithHint("choose another type")
		}
		if spec.Reason == nil && !spec.Gaps["reason"] && spec.Type != "" && syntax.WrongReason(spec.Type, syntax.MaxConditionReason) != "" {
			c.Report(spec.Pos, diagnostic.CodeReason, "spec.conditions: %q cannot be the reason as well, so the condition needs one", spec.Type).
				WithHint(`add a reason, a word such as "Available"`)
		}
	}
	c.checkRenderedConditions()
	return out
}

func (c *compiler) keepsCondition(typ string) bool {
	prefix := c.rule.ConditionPrefix
	return typ == prefix+"Ready" || typ == prefix+"Reconciling" || typ == prefix+"Stalled"
}

// checkRenderedConditions checks the constant types in spec.status.conditions: Kanon and spec.conditions must not set
// the same condition.
func (c *compiler) checkRenderedConditions() {
	list := c.rule.Status.Get("conditions")
	if list == nil {
		return
	}
	for _, item := range list.Items {
		n := item.Get("type")
		typ, ok := n.Text()
		switch {
		case !ok || yamltree.HasExpression(typ):
		case c.keepsCondition(typ):
			c.ReportNode(n, diagnostic.CodeReservedName, "spec.status.conditions: Kanon itself keeps the condition %s", typ).
				WithHint("choose another type")
		default:
			if i := slices.IndexFunc(c.rule.Conditions, func(s syntax.Condition) bool { return s.Type == typ }); i >= 0 {
				c.ReportNode(n, diagnostic.CodeNameTwice, "spec.conditions has a condition of the type %q as well", typ).
					WithRelated(c.rule.Conditions[i].Pos, "the other one").WithHint("leave it out here")
			}
		}
	}
}

func (c *compiler) events() []program.EventTemplate {
	out := make([]program.EventTemplate, len(c.rule.Events))
	for i, spec := range c.rule.Events {
		path := fmt.Sprintf("events[%d]", spec.Index)
		out[i] = program.EventTemplate{Path: path, Type: spec.Type}
		scopeOf := func(field string) *compileScope {
			sc := c.ruleScope("spec." + path + "." + field)
			if c.rule.Status != nil {
				sc.names = map[string]*origin{flow.RootStatus: {Origin: flow.Origin{Waits: true, Root: flow.RootStatus}, typ: c.kindType(c.rule.Parent.GVK, false).Field(c.types, "status")}}
			}
			return sc
		}
		by := &reader{Label: path, Guard: flow.Guard{Given: spec.When != nil, Lost: spec.Gaps["when"]}}
		u := &by.Uses
		if spec.When != nil {
			x := c.condition(spec.When, scopeOf("when"), u)
			if out[i].When, by.Guard.Lost = x.compiled(), x == nil; x != nil {
				by.Guard = flow.GuardOf(x.expr, u)
			}
		}
		out[i].Reason = c.field(spec.Reason, scopeOf("reason"), u, reason(syntax.MaxEventReason))
		out[i].Message = c.field(spec.Message, scopeOf("message"), u, message())
		out[i].Finalizing = u.Finalizing
		c.readers = append(c.readers, by)
	}
	return out
}

// checkStatusSchema compares spec.status, which is compiled, with the schema of the parent's status.
func (c *compiler) checkStatusSchema() {
	n, gvk := c.rule.Status, c.rule.Parent.GVK
	s, subresource := c.schemaOf(gvk), c.hasStatusSubresource()
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

// hasStatusSubresource returns false if it is known that the parent's kind has no status subresource.
func (c *compiler) hasStatusSubresource() bool {
	if c.opts.Kinds == nil {
		return true
	}
	kind, ok := c.opts.Kinds.Lookup(c.rule.Parent.GVK)
	return !ok || kind.HasStatus
}

func (c *compiler) checkConditionsSchema() {
	if len(c.rule.Conditions) == 0 {
		return
	}
	gvk, pos := c.rule.Parent.GVK, c.rule.Conditions[0].Pos
	s := c.schemaOf(gvk)
	if syntax.IsBuiltIn(gvk.Group) && gvk.Kind != "" {
		c.Report(pos, diagnostic.CodeNoConditions, "%s is built into Kubernetes, and Kanon writes no conditions there", gvk.Kind).
			WithHint("report it with spec.events")
		return
	}
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
		return // checkStatusSchema reports it
	}
	c.Report(pos, diagnostic.CodeNoConditions, "the schema of %s has no %s, so the conditions are not written", gvk.Kind, path).
		WithHint("add status.conditions to the schema in the CustomResourceDefinition")
}

// renderedScope is the scope of a part that is rendered and decides nothing.
func (c *compiler) renderedScope(place string) *compileScope {
	sc := c.ruleScope(place)
	sc.Rendered = true
	return sc
}

// textSchema is the schema of a field for text, into which bytes do not fit.
func textSchema() *openapi.Schema { return &openapi.Schema{Type: openapi.String} }
