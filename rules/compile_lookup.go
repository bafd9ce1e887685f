package rules

import (
	"maps"
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

// lookupState is a lookup while the rule is compiled.
type lookupState struct {
	spec     *syntax.Lookup
	compiled *program.Lookup
	state    compileState
	uses     flow.Uses
	guard    flow.Guard
}

func newLookupState(spec *syntax.Lookup) *lookupState {
	return &lookupState{spec: spec, compiled: newLookup(spec), guard: flow.Guard{Given: spec.When != nil, Lost: spec.Gaps["when"]}}
}

func newLookup(spec *syntax.Lookup) *program.Lookup {
	return &program.Lookup{ID: spec.ID, Index: spec.Index, GVK: spec.GVK, Position: spec.Pos, Optional: spec.Optional, Namespaced: true, Selector: spec.Labels}
}

// lookup is what is known of a lookup so far; nil if no lookup has the id.
func (c *compiler) lookup(id string) *flow.Lookup {
	l := c.lookups[id]
	if l == nil {
		return nil
	}
	return &flow.Lookup{Lookup: l.spec, Uses: &l.uses, Guard: &l.guard}
}

// compileLookups compiles all lookups, including those that nothing reads.
func (c *compiler) compileLookups(p *program.Program, all *flow.Uses) {
	p.LookupByID = make(map[string]*program.Lookup, len(c.lookups))
	for i := range c.rule.Lookups {
		spec := &c.rule.Lookups[i]
		l := c.lookups[spec.ID]
		if l == nil || l.spec != spec { // it has no id, or one that is taken
			l = newLookupState(spec)
		}
		c.compileLookup(l)
		c.checkLookupKind(l, p)
		all.Own.Add(l.uses.Own)
		p.Lookups, p.LookupByID[spec.ID] = append(p.Lookups, l.compiled), l.compiled
	}
}

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
	c.stack = append(c.stack, pending{spec.Label(), spec.Pos})
	results := c.results // are those of what reads the lookup
	c.results = map[*yamltree.Node]result{}
	sc, u := c.bodyScope(spec.Label(), &spec.Body), &l.uses
	c.body(&spec.Body, &out.Body, sc, u, &l.guard)
	c.query(spec, out, sc, u)
	out.Private = c.readsSecret(u)
	c.results = results
	c.stack = c.stack[:len(c.stack)-1]
	l.state = stateDone
}

func (c *compiler) bodyScope(place string, spec *syntax.Body) *compileScope {
	return &compileScope{
		Scope: flow.Scope{Place: place, AllowChildren: true, OpenNames: spec.OpenNames, OpenVariables: spec.OpenVariables},
		asked: c.asked, names: map[string]*origin{}, locals: map[string]*variable{},
	}
}

func (c *compiler) body(spec *syntax.Body, out *program.Body, sc *compileScope, u *flow.Uses, g *flow.Guard) {
	out.ForEach = c.dimensions(spec.ForEach, sc, u)
	c.locals(spec, out, sc)
	c.when(spec, out, sc, u, g)
	for _, name := range slices.Sorted(maps.Keys(sc.locals)) {
		c.compileVariable(sc.locals[name], sc)
	}
}

func (c *compiler) query(spec *syntax.Lookup, out *program.Lookup, sc *compileScope, u *flow.Uses) {
	out.NameFrom = c.field(spec.Name, sc.in(".name"), u, objectName("name"))
	if s, _ := spec.Namespace.Text(); s == syntax.AllNamespaces {
		out.AllNamespaces = true
	} else {
		out.NamespaceFrom = c.field(spec.Namespace, sc.in(".namespace"), u, objectName("namespace"))
		if t, ok := out.NamespaceFrom.(program.Const); ok {
			out.Namespace, _ = t.Value.(string)
		}
	}
	if spec.Labels == nil && spec.Selector != nil {
		out.SelectorFrom = c.lookupSelector(spec.Selector, sc, u)
	}
}

func (c *compiler) lookupSelector(n *yamltree.Node, sc *compileScope, u *flow.Uses) program.Template {
	sc = sc.in(".selector")
	t, from := c.template(n, sc, u)
	if from == nil {
		return t
	}
	switch typ := from.typ.Inner(); typ.Kind() {
	case types.MapKind:
		// Its values would be matchLabels and matchExpressions.
		if text, ok := n.Text(); ok && typ.CEL().Parameters()[1].Kind() == types.StringKind {
			c.ReportNode(n, diagnostic.CodeResultType, "%s must be a map with matchLabels or matchExpressions, and this gives a map of strings", sc.Place).
				WithHint("write matchLabels: %s", strings.TrimSpace(text))
		}
	case types.StructKind, types.DynKind:
	default:
		c.ReportNode(n, diagnostic.CodeResultType, "%s must be a map with matchLabels or matchExpressions, and this gives %s", sc.Place, typ)
	}
	c.textsOnly(n, &openapi.Schema{Type: openapi.Map, Items: &openapi.Schema{Type: openapi.Map, Items: textSchema()}})
	c.constants.Try(n, t, c.constantsOf(sc), sc.Place, attemptOf(program.SelectorOf))
	return t
}

// textsOnly makes sure that a selector compares text and not bytes. s is the schema of the part n.
func (c *compiler) textsOnly(n *yamltree.Node, s *openapi.Schema) {
	if x := c.results[n].x; x != nil {
		if x.Inner().Kind() == types.BytesKind {
			f := c.ReportNode(n, diagnostic.CodeResultType, "a selector compares text, and this gives bytes")
			f.WithHint("write string(…) around it")
			c.wrapInString(f, n, c.results[n].part)
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

// checkLookupKind looks up the kind of a lookup, and compares its scope with the namespace.
func (c *compiler) checkLookupKind(l *lookupState, p *program.Program) {
	spec, out := l.spec, l.compiled
	kind, known := c.kind(spec.GVK, spec.Node, parentVerbs(), kindUse{node: spec.Label(), optional: spec.Optional})
	out.Namespaced, out.Unresolved = kind.Namespaced, c.isUnresolved(known, spec.GVK)
	c.confine(spec.Label(), spec.GVK, kind.Namespaced, spec.Node, spec.Namespace)
	if known {
		c.checkNamespace(spec.Node, p, kind.Namespaced, namespaceUse{kind: spec.GVK.Kind, pos: spec.Pos, needs: spec.Label() + " needs a namespace"})
	}
}

// namespaceUse is a part of the rule that names the namespace of objects, or has to.
type namespaceUse struct {
	kind string
	// pos and needs report a missing namespace. hint belongs to one that must not be set.
	pos         diagnostic.Position
	needs, hint string
}

func (c *compiler) checkNamespace(in *yamltree.Node, p *program.Program, namespaced bool, use namespaceUse) {
	switch namespace := in.Get("namespace"); {
	case namespace != nil && !namespaced:
		c.ReportNode(namespace, diagnostic.CodeNamespaceForbid, "%s is cluster-scoped and cannot have a namespace", use.kind).Hint = use.hint
	case !in.Has("namespace") && namespaced && !p.Parent.Namespaced:
		c.Report(use.pos, diagnostic.CodeNamespaceRequired, "%s, because %s, the parent's kind, is cluster-scoped", use.needs, p.Parent.GVK.Kind)
	}
}

func (c *compiler) readsSecret(u *flow.Uses) bool {
	for _, r := range u.Nodes {
		if r.Root == flow.RootLookups {
			if l := c.lookups[r.ID]; l != nil && syntax.IsSecret(l.spec.GVK) {
				return true
			}
			continue
		}
		if child := c.children[r.ID]; child != nil && syntax.IsSecret(syntax.TemplateGVK(child.Template)) {
			return true
		}
	}
	return false
}
