package rules

import (
	"fmt"
	"slices"

	"github.com/google/cel-go/common/types"

	"kanon.dev/kanon/openapi"
	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/flow"
	"kanon.dev/kanon/rules/program"
	"kanon.dev/kanon/rules/program/template"
	"kanon.dev/kanon/rules/syntax"
	"kanon.dev/kanon/rules/yamltree"
)

func (c *compiler) conditions() []program.ConditionTemplate {
	out := make([]program.ConditionTemplate, len(c.rule.Conditions))
	for i := range c.rule.Conditions {
		spec := &c.rule.Conditions[i]
		path := fmt.Sprintf("spec.conditions[%d]", spec.Index)
		by := &reader{label: "the condition " + spec.Type, bare: true}
		field := func(name string, n *yamltree.Node, what string, kinds ...types.Kind) template.Template {
			if n == nil {
				return nil
			}
			return c.textField(n, c.renderedScope(path+"."+name), &by.Uses, what, kinds...)
		}
		out[i] = program.ConditionTemplate{
			Type: spec.Type, Path: fmt.Sprintf("conditions[%s]", spec.Type),
			Status:  field("status", spec.Status, "true or false, or True, False or Unknown", types.BoolKind, types.StringKind),
			Reason:  field("reason", spec.Reason, "a string", types.StringKind),
			Message: field("message", spec.Message, "a string", types.StringKind),
		}
		c.tryCondition(spec, &out[i], path)
		c.readers = append(c.readers, by)
		if c.keepsCondition(spec.Type) {
			c.report(spec.Pos, diagnostic.CodeReservedName, "spec.conditions: Kanon itself keeps the condition %s", spec.Type).
				WithHint("choose another type")
		}
		if spec.Reason == nil && !spec.Gaps["reason"] && spec.Type != "" && syntax.WrongReason(spec.Type, syntax.MaxConditionReason) != "" {
			c.report(spec.Pos, diagnostic.CodeReason, "spec.conditions: %q cannot be the reason as well, so the condition needs one", spec.Type).
				WithHint(`add a reason, a word such as "Available"`)
		}
	}
	c.checkRenderedConditions()
	return out
}

// tryCondition tries the parts of a condition that read nothing.
func (c *compiler) tryCondition(spec *syntax.Condition, out *program.ConditionTemplate, path string) {
	c.try(spec.Status, out.Status, path+".status", func(s template.Scope) *template.Problem {
		_, p := template.ConditionStatusOf(out.Status, s)
		return p
	})
	c.try(spec.Reason, out.Reason, path+".reason", func(s template.Scope) *template.Problem {
		_, p := template.ReasonOf(out.Reason, s, syntax.MaxConditionReason)
		return p
	})
	c.try(spec.Message, out.Message, path+".message", func(s template.Scope) *template.Problem {
		_, p := template.TextOf(out.Message, s)
		return p
	})
}

// keepsCondition says whether a type is that of a condition that Kanon keeps.
func (c *compiler) keepsCondition(typ string) bool {
	prefix := c.rule.ConditionPrefix
	return typ == prefix+"Ready" || typ == prefix+"Reconciling" || typ == prefix+"Stalled"
}

// checkRenderedConditions looks at spec.status.conditions, as far as it is
// written out: what stands there must be nobody else's.
func (c *compiler) checkRenderedConditions() {
	list := c.rule.Status.Get("conditions")
	if list == nil {
		return
	}
	for _, item := range list.Items {
		n := item.Get("type")
		typ, ok := n.Text()
		switch {
		case !ok || syntax.HasExpression(typ):
		case c.keepsCondition(typ):
			c.reportNode(n, diagnostic.CodeReservedName, "spec.status.conditions: Kanon itself keeps the condition %s", typ).
				WithHint("choose another type")
		default:
			if i := slices.IndexFunc(c.rule.Conditions, func(s syntax.Condition) bool { return s.Type == typ }); i >= 0 {
				c.reportNode(n, diagnostic.CodeNameTwice, "spec.conditions has a condition of the type %q as well", typ).
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
		by := &reader{label: path, guard: flow.Guard{Given: spec.When != nil, Lost: spec.Gaps["when"]}}
		u := &by.Uses
		if spec.When != nil {
			x := c.condition(spec.When, scopeOf("when"), u)
			if out[i].When, by.guard.Lost = x.compiled(), x == nil; x != nil {
				by.guard = flow.GuardOf(x.expr, u)
			}
		}
		if spec.Reason != nil {
			reason := c.textField(spec.Reason, scopeOf("reason"), u, "a string", types.StringKind)
			out[i].Reason = reason
			c.try(spec.Reason, reason, "spec."+path+".reason", func(s template.Scope) *template.Problem {
				_, p := template.ReasonOf(reason, s, syntax.MaxEventReason)
				return p
			})
		}
		if spec.Message != nil {
			message := c.textField(spec.Message, scopeOf("message"), u, "a string", types.StringKind)
			out[i].Message = message
			c.try(spec.Message, message, "spec."+path+".message", func(s template.Scope) *template.Problem {
				_, p := template.TextOf(message, s)
				return p
			})
		}
		out[i].Finalizing = u.Finalizing
		c.readers = append(c.readers, by)
	}
	return out
}

// renderedScope is that of a part that is rendered: nothing is decided by it.
func (c *compiler) renderedScope(place string) *compileScope {
	sc := c.ruleScope(place)
	sc.rendered = true
	return sc
}

// textSchema is that of a place for text, which bytes are not.
func textSchema() *openapi.Schema { return &openapi.Schema{Type: openapi.String} }

// textField compiles a scalar that stands for a text or something like it. What
// one whole expression gives must be of one of the kinds, if that is known.
func (c *compiler) textField(n *yamltree.Node, sc *compileScope, u *flow.Uses, what string, kinds ...types.Kind) template.Template {
	s, _ := n.Text()
	parts, err := syntax.Scan(s)
	whole, ok := syntax.WholeExpression(parts)
	if err != nil || !ok || whole.Spread {
		t, _ := c.template(n, sc, u)
		return t
	}
	x, _ := c.expression(n, whole, sc, u)
	if x == nil {
		return nil
	}
	isText := x.IsText() && slices.Contains(kinds, types.StringKind) // a time in an object is text
	if !isText && !x.CanBe(kinds...) {
		f := c.reportSpan(n, whole.Offset, len(whole.Text), diagnostic.CodeResultType, "%s must be %s, and this gives %s", sc.place, what, x.Type)
		noText, _ := x.TextHint()
		if len(kinds) == 1 && kinds[0] == types.StringKind && noText == "" && what != aDeletionPolicy || x.Inner().Kind() == types.BytesKind {
			f.WithHint("write string(…) around it")
			c.wrapInString(f, n, whole)
		}
		return nil
	}
	x.goesInto(textSchema())
	return template.Expr{X: x.run}
}
