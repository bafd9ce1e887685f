package rules

import (
	"fmt"
	"slices"

	"github.com/google/cel-go/common/types"

	"kanon.dev/kanon/openapi"
	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/yamltree"
)

// compiledCondition is one of spec.conditions.
type compiledCondition struct {
	typ string
	// path is its place for messages.
	path   string
	status template
	// reason and message are nil where they were left out.
	reason, message template
}

// compiledEvent is one of spec.events.
type compiledEvent struct {
	path            string
	typ             string
	when            *expression
	reason, message template
}

func (c *compiler) conditions() []compiledCondition {
	out := make([]compiledCondition, len(c.rule.conditions))
	for i := range c.rule.conditions {
		spec := &c.rule.conditions[i]
		path := fmt.Sprintf("spec.conditions[%d]", spec.index)
		by := &reader{label: "the condition " + spec.typ, bare: true}
		field := func(name string, n *yamltree.Node, what string, kinds ...types.Kind) template {
			if n == nil {
				return nil
			}
			return c.textField(n, c.renderedScope(path+"."+name), &by.uses, what, kinds...)
		}
		out[i] = compiledCondition{
			typ: spec.typ, path: fmt.Sprintf("conditions[%s]", spec.typ),
			status:  field("status", spec.status, "true or false, or True, False or Unknown", types.BoolKind, types.StringKind),
			reason:  field("reason", spec.reason, "a string", types.StringKind),
			message: field("message", spec.message, "a string", types.StringKind),
		}
		c.tryCondition(spec, &out[i], path)
		c.readers = append(c.readers, by)
		if c.keepsCondition(spec.typ) {
			c.report(spec.pos, diagnostic.CodeReservedName, "spec.conditions: Kanon itself keeps the condition %s", spec.typ).
				WithHint("choose another type")
		}
		if spec.reason == nil && !spec.gaps["reason"] && spec.typ != "" && wrongReason(spec.typ, maxConditionReason) != "" {
			c.report(spec.pos, diagnostic.CodeReason, "spec.conditions: %q cannot be the reason as well, so the condition needs one", spec.typ).
				WithHint(`add a reason, a word such as "Available"`)
		}
	}
	c.checkRenderedConditions()
	return out
}

// tryCondition tries the parts of a condition that read nothing.
func (c *compiler) tryCondition(spec *conditionSpec, out *compiledCondition, path string) {
	c.try(spec.status, out.status, path+".status", func(s *scope) *problem {
		_, p := (&compiledCondition{typ: out.typ, status: out.status}).render(s)
		return p
	})
	c.try(spec.reason, out.reason, path+".reason", func(s *scope) *problem {
		_, p := reasonOf(out.reason, s, maxConditionReason)
		return p
	})
	c.try(spec.message, out.message, path+".message", func(s *scope) *problem {
		_, p := textOf(out.message, s)
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
	list := c.rule.status.Get("conditions")
	if list == nil {
		return
	}
	for _, item := range list.Items {
		n := item.Get("type")
		typ, ok := n.Text()
		switch {
		case !ok || hasExpression(typ):
		case c.keepsCondition(typ):
			c.report(c.rule.src.At(n), diagnostic.CodeReservedName, "spec.status.conditions: Kanon itself keeps the condition %s", typ).
				WithHint("choose another type")
		case slices.ContainsFunc(c.rule.conditions, func(s conditionSpec) bool { return s.typ == typ }):
			c.report(c.rule.src.At(n), diagnostic.CodeNameTwice, "spec.conditions has a condition of the type %q as well", typ).
				WithHint("leave it out here")
		}
	}
}

func (c *compiler) events() []compiledEvent {
	out := make([]compiledEvent, len(c.rule.events))
	for i, spec := range c.rule.events {
		path := fmt.Sprintf("events[%d]", spec.index)
		out[i] = compiledEvent{path: path, typ: spec.typ}
		scopeOf := func(field string) *compileScope {
			sc := c.ruleScope("spec." + path + "." + field)
			if c.rule.status != nil {
				sc.names = map[string]*origin{rootStatus: {waits: true, root: rootStatus, typ: c.statusType()}}
			}
			return sc
		}
		by := &reader{label: path, guard: guard{given: spec.when != nil, lost: spec.gaps["when"]}}
		u := &by.uses
		if spec.when != nil {
			x := c.condition(spec.when, scopeOf("when"), u)
			if out[i].when, by.guard.lost = x.compiled(), x == nil; x != nil {
				by.guard = whenGuard(x, u)
			}
		}
		if spec.reason != nil {
			reason := c.textField(spec.reason, scopeOf("reason"), u, "a string", types.StringKind)
			out[i].reason = reason
			c.try(spec.reason, reason, "spec."+path+".reason", func(s *scope) *problem {
				_, p := reasonOf(reason, s, maxEventReason)
				return p
			})
		}
		if spec.message != nil {
			message := c.textField(spec.message, scopeOf("message"), u, "a string", types.StringKind)
			out[i].message = message
			c.try(spec.message, message, "spec."+path+".message", func(s *scope) *problem {
				_, p := textOf(message, s)
				return p
			})
		}
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
func (c *compiler) textField(n *yamltree.Node, sc *compileScope, u *uses, what string, kinds ...types.Kind) template {
	s, _ := n.Text()
	parts, err := scan(s)
	whole, ok := wholeExpression(parts)
	if err != nil || !ok || whole.spread {
		t, _ := c.template(n, sc, u)
		return t
	}
	x, _ := c.expression(n, whole, sc, u)
	if x == nil {
		return nil
	}
	typ := innerType(x.typ)
	if x.typed.schema != nil && x.typed.schema.Type == openapi.String && !isBytes(x.typed.schema) {
		typ = types.StringType // a time in an object is text
	}
	if k := typ.Kind(); k != types.DynKind && !slices.Contains(kinds, k) {
		f := c.reportAt(n, whole.offset, diagnostic.CodeResultType, "%s must be %s, and this gives %s", sc.place, what, typeWords(x.typ))
		if len(kinds) == 1 && kinds[0] == types.StringKind && neverText(x.typ) == "" || typ.Kind() == types.BytesKind {
			f.WithHint("write string(…) around it")
		}
		return nil
	}
	x.goesInto(textSchema())
	return exprTemplate{x: x.expression}
}

// statusField is status.<name> in an event.
func (a *analysis) statusField(id int64, name string) {
	status := a.c.rule.status
	if status == nil || status.Kind != yamltree.Mapping || status.Partial || status.Has(name) {
		return
	}
	var names []string
	for _, f := range status.Fields {
		if hasExpression(f.Name) {
			return // it may be one of these
		}
		names = append(names, f.Name)
	}
	a.reportName(id, name, diagnostic.CodeUnknownStatus, "spec.status has no field %q, and status is what that renders", name).
		WithHint("%s", diagnostic.DidYouMean(name, names))
}
