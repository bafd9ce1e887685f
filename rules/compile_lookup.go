package rules

import (
	"maps"
	"slices"
	"strings"

	"github.com/google/cel-go/common/types"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"

	"kanon.dev/kanon/openapi"
	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/yamltree"
)

// compiledLookup is a node of spec.lookups.
type compiledLookup struct {
	Lookup
	body
	index    int
	optional bool
	// name and selector are templates of which one is given; a selector without
	// expressions is in fixed, and in Lookup.Selector.
	name, selector template
	// namespace is nil where it is left out, and with all.
	namespace template
	all       bool
	fixed     labels.Selector
	// private is true where something of a Secret says what is looked up.
	private bool
	// where is the place in messages, for what is no lookup but found as one.
	where string
}

// lookupState is a lookup while the rule is compiled.
type lookupState struct {
	spec     *lookupSpec
	compiled *compiledLookup
	state    compileState
	uses     uses
	guard    guard
}

func newLookupState(spec *lookupSpec) *lookupState {
	l := &compiledLookup{index: spec.index, optional: spec.optional, fixed: spec.labels}
	l.Lookup = Lookup{ID: spec.id, GVK: spec.gvk, Position: spec.pos, Namespaced: true, Selector: spec.labels}
	return &lookupState{spec: spec, compiled: l, guard: guard{given: spec.when != nil, lost: spec.gaps["when"]}}
}

// compileLookups compiles those that nothing has read yet too.
func (c *compiler) compileLookups(p *Program, all *uses) {
	p.lookups = make(map[string]*compiledLookup, len(c.lookups))
	for i := range c.rule.lookups {
		spec := &c.rule.lookups[i]
		l := c.lookups[spec.id]
		if l == nil || l.spec != spec { // it has no id, or one that is taken
			l = newLookupState(spec)
		}
		c.compileLookup(l)
		c.checkLookupKind(l, p)
		all.ownStatus = all.ownStatus || l.uses.ownStatus
		p.lookups[spec.id] = l.compiled
		p.lookupOrder = append(p.lookupOrder, spec.id)
	}
}

// compileLookup compiles a lookup if that has not been done.
func (c *compiler) compileLookup(l *lookupState) {
	spec, out := l.spec, l.compiled
	switch l.state {
	case stateDone:
		return
	case stateCompiling:
		c.reportCycle(spec.pos, spec.label())
		return
	}
	l.state = stateCompiling
	c.stack = append(c.stack, spec.label())
	results := c.results // are those of what reads the lookup
	c.results = map[*yamltree.Node]result{}
	sc := &compileScope{
		place: spec.label(), allowChildren: true, asked: c.asked, openNames: spec.openNames, openVariables: spec.openVariables,
		names: map[string]*origin{}, locals: map[string]*compiledVariable{},
	}
	u := &l.uses
	out.forEach = c.dimensions(spec.forEach, sc, u)
	c.locals(&spec.bodySpec, &out.body, sc)
	c.when(&spec.bodySpec, &out.body, sc, u, &l.guard)
	for _, name := range slices.Sorted(maps.Keys(out.locals)) {
		c.compileVariable(out.locals[name], sc)
	}
	out.name = c.lookupText(spec.name, "name", sc, u)
	if s, _ := spec.namespace.Text(); s == allNamespaces {
		out.all = true
	} else {
		out.namespace = c.lookupText(spec.namespace, "namespace", sc, u)
		if t, ok := out.namespace.(constTemplate); ok {
			out.Namespace, _ = t.value.(string)
		}
	}
	if spec.labels == nil && spec.selector != nil {
		out.selector = c.lookupSelector(spec.selector, sc, u)
	}
	out.private = c.readsSecret(u)
	c.results = results
	c.stack = c.stack[:len(c.stack)-1]
	l.state = stateDone
}

// lookupText compiles the name or the namespace of a lookup; nil of nil.
func (c *compiler) lookupText(n *yamltree.Node, field string, sc *compileScope, u *uses) template {
	if n == nil {
		return nil
	}
	inner := *sc
	inner.place = sc.place + "." + field
	t := c.textField(n, &inner, u, "a string", types.StringKind)
	check := isPathSegment
	if field == "namespace" {
		check = validation.IsDNS1123Label
	}
	c.try(n, t, inner.place, func(s *scope) *problem {
		text, ok, p := renderText(t, s)
		if p != nil || !ok {
			return p
		}
		return s.ev.checkRendered(field, text, check)
	})
	return t
}

// lookupSelector compiles a selector with expressions.
func (c *compiler) lookupSelector(n *yamltree.Node, sc *compileScope, u *uses) template {
	inner := *sc
	inner.place = sc.place + ".selector"
	t, from := c.template(n, &inner, u)
	if from == nil {
		return t
	}
	switch typ := innerType(from.typ.cel()); typ.Kind() {
	case types.MapKind:
		// Its values would be matchLabels and matchExpressions.
		if text, ok := n.Text(); ok && typ.Parameters()[1].Kind() == types.StringKind {
			c.report(c.rule.src.At(n), diagnostic.CodeResultType, "%s must be a map with matchLabels or matchExpressions, and this gives a map of strings", inner.place).
				WithHint("write matchLabels: %s", strings.TrimSpace(text))
		}
	case types.StructKind, types.DynKind:
	default:
		c.report(c.rule.src.At(n), diagnostic.CodeResultType, "%s must be a map with matchLabels or matchExpressions, and this gives %s", inner.place, typeWords(typ))
	}
	c.textsOnly(n, &openapi.Schema{Type: openapi.Map, Items: &openapi.Schema{Type: openapi.Map, Items: textSchema()}})
	c.try(n, t, inner.place, func(s *scope) *problem {
		val, _, p := t.render(s)
		if p == nil {
			_, p = s.ev.renderedSelector(val)
		}
		if p != nil {
			p = p.at()
		}
		return p
	})
	return t
}

// textsOnly keeps bytes out of a selector, or a part of one, that can be as s says.
func (c *compiler) textsOnly(n *yamltree.Node, s *openapi.Schema) {
	if x := c.results[n].x; x != nil {
		if innerType(x.typ).Kind() == types.BytesKind {
			c.report(c.rule.src.At(n), diagnostic.CodeResultType, "a selector compares text, and this gives bytes").WithHint("write string(…) around it")
		}
		x.goesInto(s)
	}
	for _, f := range n.Fields {
		c.textsOnly(f.Value, s.Items)
	}
	for _, item := range n.Items {
		c.textsOnly(item, &openapi.Schema{Type: openapi.Map, Items: textSchema()})
	}
}

// checkLookupKind looks up the kind of a lookup, and compares its scope with the
// namespace.
func (c *compiler) checkLookupKind(l *lookupState, p *Program) {
	spec, out := l.spec, l.compiled
	kind, known := c.kind(spec.gvk, spec.node, parentVerbs(), kindUse{node: spec.label(), optional: spec.optional})
	out.Namespaced, out.Unresolved = kind.Namespaced, c.isUnresolved(known, spec.gvk)
	if !known {
		return
	}
	namespace := spec.node.Get("namespace")
	switch {
	case namespace != nil && !kind.Namespaced:
		c.report(c.rule.src.At(namespace), diagnostic.CodeNamespaceForbid, "%s is cluster-scoped and cannot have a namespace", spec.gvk.Kind)
	case !spec.node.Has("namespace") && kind.Namespaced && !p.parent.Namespaced:
		c.report(spec.pos, diagnostic.CodeNamespaceRequired, "%s needs a namespace, because %s, the parent's kind, is cluster-scoped", spec.label(), p.parent.GVK.Kind)
	}
}
