package rules

import (
	"maps"
	"slices"
	"strings"

	"github.com/google/cel-go/common/types"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"

	"kanon.dev/kanon/openapi"
	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/flow"
	"kanon.dev/kanon/rules/syntax"
	"kanon.dev/kanon/rules/yamltree"
)

// lookupState is a lookup while the rule is compiled.
type lookupState struct {
	spec     *syntax.Lookup
	compiled *compiledLookup
	state    compileState
	uses     flow.Uses
	guard    flow.Guard
}

func newLookupState(spec *syntax.Lookup) *lookupState {
	l := &compiledLookup{index: spec.Index, optional: spec.Optional, fixed: spec.Labels}
	l.Lookup = Lookup{ID: spec.ID, GVK: spec.GVK, Position: spec.Pos, Namespaced: true, Selector: spec.Labels}
	return &lookupState{spec: spec, compiled: l, guard: flow.Guard{Given: spec.When != nil, Lost: spec.Gaps["when"]}}
}

// compileLookups compiles those that nothing has read yet too.
func (c *compiler) compileLookups(p *Program, all *flow.Uses) {
	p.lookups = make(map[string]*compiledLookup, len(c.lookups))
	for i := range c.rule.Lookups {
		spec := &c.rule.Lookups[i]
		l := c.lookups[spec.ID]
		if l == nil || l.spec != spec { // it has no id, or one that is taken
			l = newLookupState(spec)
		}
		c.compileLookup(l)
		c.checkLookupKind(l, p)
		all.OwnStatus = all.OwnStatus || l.uses.OwnStatus
		p.lookups[spec.ID] = l.compiled
		p.lookupOrder = append(p.lookupOrder, spec.ID)
	}
}

// compileLookup compiles a lookup if that has not been done.
func (c *compiler) compileLookup(l *lookupState) {
	spec, out := l.spec, l.compiled
	switch l.state {
	case stateDone:
		return
	case stateCompiling:
		c.reportCycle(spec.Pos, spec.Label())
		return
	}
	l.state = stateCompiling
	c.stack = append(c.stack, spec.Label())
	results := c.results // are those of what reads the lookup
	c.results = map[*yamltree.Node]result{}
	sc := &compileScope{
		place: spec.Label(), allowChildren: true, asked: c.asked, openNames: spec.OpenNames, openVariables: spec.OpenVariables,
		names: map[string]*origin{}, locals: map[string]*compiledVariable{},
	}
	u := &l.uses
	out.forEach = c.dimensions(spec.ForEach, sc, u)
	c.locals(&spec.Body, &out.body, sc)
	c.when(&spec.Body, &out.body, sc, u, &l.guard)
	for _, name := range slices.Sorted(maps.Keys(out.locals)) {
		c.compileVariable(out.locals[name], sc)
	}
	out.name = c.lookupText(spec.Name, "name", sc, u)
	if s, _ := spec.Namespace.Text(); s == syntax.AllNamespaces {
		out.all = true
	} else {
		out.namespace = c.lookupText(spec.Namespace, "namespace", sc, u)
		if t, ok := out.namespace.(constTemplate); ok {
			out.Namespace, _ = t.value.(string)
		}
	}
	if spec.Labels == nil && spec.Selector != nil {
		out.selector = c.lookupSelector(spec.Selector, sc, u)
	}
	out.private = c.readsSecret(u)
	c.results = results
	c.stack = c.stack[:len(c.stack)-1]
	l.state = stateDone
}

// lookupText compiles the name or the namespace of a lookup; nil of nil.
func (c *compiler) lookupText(n *yamltree.Node, field string, sc *compileScope, u *flow.Uses) template {
	if n == nil {
		return nil
	}
	inner := *sc
	inner.place = sc.place + "." + field
	t := c.textField(n, &inner, u, "a string", types.StringKind)
	check := syntax.IsPathSegment
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
func (c *compiler) lookupSelector(n *yamltree.Node, sc *compileScope, u *flow.Uses) template {
	inner := *sc
	inner.place = sc.place + ".selector"
	t, from := c.template(n, &inner, u)
	if from == nil {
		return t
	}
	switch typ := from.typ.Inner(); typ.Kind() {
	case types.MapKind:
		// Its values would be matchLabels and matchExpressions.
		if text, ok := n.Text(); ok && typ.CEL().Parameters()[1].Kind() == types.StringKind {
			c.report(c.rule.Source.At(n), diagnostic.CodeResultType, "%s must be a map with matchLabels or matchExpressions, and this gives a map of strings", inner.place).
				WithHint("write matchLabels: %s", strings.TrimSpace(text))
		}
	case types.StructKind, types.DynKind:
	default:
		c.report(c.rule.Source.At(n), diagnostic.CodeResultType, "%s must be a map with matchLabels or matchExpressions, and this gives %s", inner.place, typ)
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
		if x.Inner().Kind() == types.BytesKind {
			c.report(c.rule.Source.At(n), diagnostic.CodeResultType, "a selector compares text, and this gives bytes").WithHint("write string(…) around it")
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
	kind, known := c.kind(spec.GVK, spec.Node, parentVerbs(), kindUse{node: spec.Label(), optional: spec.Optional})
	out.Namespaced, out.Unresolved = kind.Namespaced, c.isUnresolved(known, spec.GVK)
	if !known {
		return
	}
	namespace := spec.Node.Get("namespace")
	switch {
	case namespace != nil && !kind.Namespaced:
		c.report(c.rule.Source.At(namespace), diagnostic.CodeNamespaceForbid, "%s is cluster-scoped and cannot have a namespace", spec.GVK.Kind)
	case !spec.Node.Has("namespace") && kind.Namespaced && !p.parent.Namespaced:
		c.report(spec.Pos, diagnostic.CodeNamespaceRequired, "%s needs a namespace, because %s, the parent's kind, is cluster-scoped", spec.Label(), p.parent.GVK.Kind)
	}
}

// readsSecret says whether a part of a rule reads something of a lookup or a child that
// is a Secret.
func (c *compiler) readsSecret(u *flow.Uses) bool {
	for _, r := range u.Nodes {
		if r.Root == flow.RootLookups {
			if l := c.lookups[r.ID]; l != nil && syntax.IsSecret(l.spec.GVK) {
				return true
			}
			continue
		}
		child := c.children[r.ID]
		if child == nil {
			continue
		}
		kind, _ := child.Template.Get("kind").Text()
		version, _ := child.Template.Get("apiVersion").Text()
		if syntax.IsSecret(schema.FromAPIVersionAndKind(version, kind)) {
			return true
		}
	}
	return false
}
