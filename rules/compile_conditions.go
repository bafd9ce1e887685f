package rules

import (
	"fmt"
	"slices"

	"kanon.dev/kanon/kinds/openapi"
	"kanon.dev/kanon/rules/dependency"
	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/flow"
	"kanon.dev/kanon/rules/naming"
	"kanon.dev/kanon/rules/program/parentstatus"
	"kanon.dev/kanon/rules/program/template"
	"kanon.dev/kanon/rules/scanner"
	"kanon.dev/kanon/rules/syntax"
	"kanon.dev/kanon/rules/yamltree"
)

func (c *compiler) conditions() []parentstatus.ConditionTemplate {
	out := make([]parentstatus.ConditionTemplate, len(c.rule.Conditions))
	for i := range c.rule.Conditions {
		spec := &c.rule.Conditions[i]
		path := fmt.Sprintf("spec.conditions[%d]", spec.Index)
		by := &dependency.Reader{Label: "the condition " + spec.Type, Bare: true}
		field := func(name string, n *yamltree.Node, f form) template.Template {
			return c.field(n, c.renderedScope(path+"."+name), &by.Uses, f)
		}
		out[i] = parentstatus.ConditionTemplate{
			Type: spec.Type, Path: fmt.Sprintf("conditions[%s]", spec.Type),
			Status:  field("status", spec.Status, conditionStatus()),
			Reason:  field("reason", spec.Reason, reason(naming.MaxConditionReason)),
			Message: field("message", spec.Message, message()),
		}
		c.readers = append(c.readers, by)
		if c.keepsCondition(spec.Type) {
			c.Report(spec.Pos, diagnostic.CodeReservedName, "spec.conditions: Kanon itself keeps the condition %s", spec.Type).
				WithHint("choose another type")
		}
		if spec.Reason == nil && !spec.Gaps["reason"] && spec.Type != "" && naming.WrongReason(spec.Type, naming.MaxConditionReason) != "" {
			c.Report(spec.Pos, diagnostic.CodeReason, "spec.conditions: %q cannot be the reason as well, so the condition needs one", spec.Type).
				WithHint(`add a reason, a word such as "Available"`)
		}
	}
	c.checkRenderedConditions()
	return out
}

// keepsCondition reports whether Kanon itself sets conditions of a type.
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
		case !ok || scanner.HasExpression(typ):
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

func (c *compiler) events() []parentstatus.EventTemplate {
	out := make([]parentstatus.EventTemplate, len(c.rule.Events))
	for i, spec := range c.rule.Events {
		path := fmt.Sprintf("events[%d]", spec.Index)
		out[i] = parentstatus.EventTemplate{Path: path, Type: spec.Type}
		scopeOf := func(field string) *compileScope {
			sc := c.ruleScope("spec." + path + "." + field)
			if c.rule.Status != nil {
				sc.names = map[string]*origin{flow.RootStatus: {Origin: flow.Origin{Waits: true, Root: flow.RootStatus}, typ: c.kindType(c.rule.Parent.GVK, false).Field(c.types, "status")}}
			}
			return sc
		}
		by := &dependency.Reader{Label: path, Guard: flow.Guard{Given: spec.When != nil, Lost: spec.Gaps["when"]}}
		u := &by.Uses
		if spec.When != nil {
			x := c.condition(spec.When, scopeOf("when"), u)
			if out[i].When, by.Guard.Lost = x.compiled(), x == nil; x != nil {
				by.Guard = flow.GuardOf(x.expr, u)
			}
		}
		out[i].Reason = c.field(spec.Reason, scopeOf("reason"), u, reason(naming.MaxEventReason))
		out[i].Message = c.field(spec.Message, scopeOf("message"), u, message())
		out[i].Finalizing = u.Finalizing
		c.readers = append(c.readers, by)
	}
	return out
}

// renderedScope is the scope of a part that is rendered and decides nothing.
func (c *compiler) renderedScope(place string) *compileScope {
	sc := c.ruleScope(place)
	sc.Rendered = true
	return sc
}

// textSchema is the schema of a field for text, into which bytes do not fit.
func textSchema() *openapi.Schema { return &openapi.Schema{Type: openapi.String} }
