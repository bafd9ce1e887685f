package rules

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/cel-go/common/types"

	"kanon.dev/kanon/rules/check"
	"kanon.dev/kanon/rules/constant"
	"kanon.dev/kanon/rules/dependency"
	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/flow"
	"kanon.dev/kanon/rules/generated"
	"kanon.dev/kanon/rules/identity"
	"kanon.dev/kanon/rules/program"
	"kanon.dev/kanon/rules/program/template"
	"kanon.dev/kanon/rules/syntax"
	"kanon.dev/kanon/rules/validation"
	"kanon.dev/kanon/rules/yamltree"
)

func (c *compiler) child(spec *syntax.Child, p *program.Program) (*program.Child, *dependency.Node) {
	path := "children." + spec.ID
	if spec.ID == "" {
		path = spec.Label()
	}
	child := &program.Child{
		ID: spec.ID, Position: spec.Pos, IsList: spec.Many(), UpdatePolicy: spec.UpdatePolicy, Namespaced: true,
		Adopt: spec.Adopt, Optional: spec.Optional, Cleanup: spec.Cleanup, Elsewhere: spec.NamesNamespace(),
	}
	n := &dependency.Node{Spec: spec, Guard: flow.Guard{Given: spec.When != nil, Lost: spec.Gaps["when"]}}
	c.results = map[*yamltree.Node]result{}
	hasStatus := spec.Template != nil && c.childKind(spec, child, p)

	// What was not decoded may have been CreateOnly.
	once := spec.UpdatePolicy == syntax.UpdateCreateOnly || spec.Gaps["updatePolicy"]
	sc := c.bodyScope(path, &spec.Body)
	sc.OwnRandom, sc.asked = once, c.askedBy(spec.Cleanup)
	if !once && !spec.Many() {
		sc.OwnGenerated = spec.ID
	}
	c.childItems(spec, child, sc, n)
	c.locals(&spec.Body, &child.Body, sc)
	c.when(&spec.Body, &child.Body, sc, &n.Uses, &n.Guard)
	if spec.Cleanup {
		n.Guard = n.Guard.Under(dependency.Finalizing())
	}
	if spec.Optional {
		n.Guard = n.Guard.Under(dependency.Optional(child.GVK))
	}
	for _, name := range slices.Sorted(maps.Keys(sc.locals)) {
		v := c.compileVariable(sc.locals[name], sc)
		n.Own.Add(v.uses.Own)
	}
	if spec.Template != nil {
		c.childTemplate(spec, child, sc, &n.Uses, once)
		c.conform(spec.Template, child.GVK, hasStatus, false)
		c.checkTemplate(spec, child)
	}
	c.readiness(spec, child, sc, n.Guard)
	c.writeConditions(spec, child, sc, n)
	c.deletion(spec, child, sc, &n.Uses)
	c.ignored(spec, child, sc, &n.Uses)
	if c.scopes != nil {
		c.scopes[spec.ID] = sc
	}
	return child, n
}

// childTemplate compiles a child's template, and checks which object it is. once is true for a child that is never
// updated.
func (c *compiler) childTemplate(spec *syntax.Child, child *program.Child, sc *compileScope, u *flow.Uses, once bool) {
	rendered := *sc
	rendered.Rendered, rendered.Random, rendered.Own = true, once, sc.OwnGenerated
	var from *origin
	child.Template, from = c.template(spec.Template, &rendered, u)
	if from != nil && c.rule.RequeueAfter != nil {
		identity.CheckSteady(c.Reporter, spec, &from.Origin)
	}
	identity.CheckRandom(c.Reporter, spec, u)
	if rendered.Own != "" {
		c.checkGenerated(spec, child, sc.locals, u)
	}
	dependency.CheckSelfWait(spec, c.Reporter, c.parsed)
	identity.CheckConstantNames(c.Reporter, spec.Template.Get("metadata"), child.GVK.GroupKind(), c.constantText)
}

// checkTemplate checks a template after it was compiled and compared with its schema.
func (c *compiler) checkTemplate(spec *syntax.Child, child *program.Child) {
	validation.Check(validation.Input{Template: spec.Template, Kind: child.GVK.GroupKind(), At: c.At, Report: func(n *yamltree.Node, code diagnostic.Code, format string, args ...any) *diagnostic.Finding {
		return c.Report(c.rule.Source.At(n), code, format, args...)
	}})
	c.checkItems(spec)
	if c.fieldReads != nil {
		c.fieldReads.Check(spec, child)
	}
}

// checkGenerated checks and records the fields that are generated once.
func (c *compiler) checkGenerated(spec *syntax.Child, child *program.Child, locals map[string]*variable, u *flow.Uses) {
	check := generated.Check{
		Reporter: c.Reporter, Spec: spec, Child: child, Variables: map[string]generated.Variable{}, Uses: u, Parsed: c.parsed,
		Shared: func(n *yamltree.Node) bool { return len(c.results[n].others) > 0 },
	}
	for name, v := range locals {
		check.Variables[name] = generated.Variable{Variable: v.Variable, Spec: &v.spec, Uses: v.uses}
	}
	check.Run()
}

// childKind looks up the kind of a child's template, and reports whether it has a status subresource.
func (c *compiler) childKind(spec *syntax.Child, child *program.Child, p *program.Program) (hasStatus bool) {
	child.GVK = identity.Kind(c.Reporter, spec)
	kind, known := c.kind(child.GVK, spec.Template, childVerbs(), kindUse{node: "child " + spec.Label(), optional: spec.Optional})
	child.Namespaced = kind.Namespaced
	child.Unresolved = c.isUnresolved(known, child.GVK)
	c.reach.CheckPrivilege("child "+spec.Label(), child.GVK, spec.Template)
	c.reach.Confine("child "+spec.Label(), child.GVK, child.Namespaced, spec.Template, spec.Template.Get("metadata").Get("namespace"))
	identity.CheckMetadata(c.Reporter, spec, child.GVK.GroupKind(), c.schemaOf(child.GVK) != nil)
	if metadata := spec.Template.Get("metadata"); known && metadata != nil && metadata.Kind == yamltree.Mapping {
		c.checkNamespace(metadata, p, child.Namespaced, namespaceUse{
			kind: child.GVK.Kind, pos: c.rule.Source.At(metadata), needs: "the template of " + spec.Label() + " needs metadata.namespace", hint: "leave it out",
		})
	}
	return kind.HasStatus
}

// readiness compiles readyWhen. Its reads order nothing, because it is evaluated after all writes. ${true} means that
// the state of the child does not count.
func (c *compiler) readiness(spec *syntax.Child, child *program.Child, sc *compileScope, guard flow.Guard) {
	if spec.ReadyWhen == nil {
		return
	}
	ready := c.selfScope(sc, child, sc.Place+".readyWhen")
	by := &dependency.Reader{Label: ready.Place, ID: spec.ID, Bare: true, Guard: guard}
	x, part := c.boolean(spec.ReadyWhen, ready, &by.Uses)
	if x != nil && strings.TrimSpace(x.run.Text) != "true" {
		c.checkConstant(spec.ReadyWhen, part, x, ready)
	}
	child.ReadyWhen = x.compiled()
	c.readers = append(c.readers, by)
}

// selfScope is the scope of an expression that can read self, the live object.
func (c *compiler) selfScope(sc *compileScope, child *program.Child, place string) *compileScope {
	own := *sc
	own.Place, own.Child = place, child.ID
	own.names = map[string]*origin{flow.RootSelf: {Origin: flow.Origin{Waits: true}, typ: c.kindType(child.GVK, false)}}
	maps.Copy(own.names, sc.names)
	return &own
}

// dimensions compiles forEach. It adds the names to sc and the reads to u. A dimension may use the names of those
// before it.
func (c *compiler) dimensions(specs []syntax.Dimension, sc *compileScope, u *flow.Uses) []program.Dimension {
	var out []program.Dimension
	for i, f := range specs {
		if f.In == nil { // the reason was reported
			sc.names[f.Name] = &origin{}
			continue
		}
		path := fmt.Sprintf("forEach[%d].in", i)
		in := sc.in("." + path)
		in.locals = nil
		t, from := c.template(f.In, in, u)
		switch x := t.(type) {
		case template.Expr:
			c.checkRange(f.In, x.X, from.typ, in)
			c.constants.Try(f.In, t, c.constantsOf(in), in.Place, constant.AttemptOf(template.ItemsOf))
		case template.Text:
			c.ReportAround(f.In, anyText, diagnostic.CodeNotExpression, "%s must be one expression that gives a list or a map", in.Place)
		}
		out = append(out, program.Dimension{Name: f.Name, In: t, Path: path})
		if from == nil {
			from = &origin{}
		}
		sc.names[f.Name] = &origin{Origin: flow.Origin{Waits: from.Waits}, typ: c.types.Item(from.typ)}
	}
	return out
}

// checkRange reports a forEach over something that is neither a list nor a map.
func (c *compiler) checkRange(n *yamltree.Node, x *template.Expression, typ check.Type, sc *compileScope) {
	if typ.CanBe(types.ListKind, types.MapKind, types.StructKind, types.NullTypeKind) {
		return
	}
	s, _ := n.Text()
	f := c.ReportSpan(n, strings.Index(s, x.Text), len(x.Text), diagnostic.CodeResultType, "%s must be a list or a map, and this gives %s", sc.Place, typ.Inner())
	if typ.CanBe(types.IntKind) {
		f.WithHint("write lists.range(%s) for an item for each number from 0", template.Shorten(x.Text))
	}
}

// locals declares the variables of a child, a lookup or a patch. They are compiled once something reads them.
func (c *compiler) locals(spec *syntax.Body, b *program.Body, sc *compileScope) {
	b.Variables = make(map[string]*program.Variable, len(spec.Variables))
	for i, v := range spec.Variables {
		if v.Name == "" {
			continue // the reason was reported
		}
		if c.variables[v.Name] != nil {
			c.Report(v.Pos, diagnostic.CodeNameTwice, "the rule has a variable called %q already", v.Name).WithHint("choose another name")
			continue
		}
		local := newVariable(v, i)
		sc.locals[v.Name], b.Variables[v.Name] = local, local.Variable
	}
}

// when compiles the condition of a child, a lookup or a patch.
func (c *compiler) when(spec *syntax.Body, b *program.Body, sc *compileScope, all *flow.Uses, g *flow.Guard) {
	if spec.When == nil {
		return
	}
	u := &flow.Uses{}
	x := c.condition(spec.When, sc.in(".when"), u)
	if x == nil {
		return
	}
	b.When = x.run
	holds, known := c.constants.Of(x.run).Bool()
	sc.off = known && !holds
	given := sc.asked
	sc.asked = maps.Clone(x.Exist)
	maps.Copy(sc.asked, given)
	*g = flow.GuardOf(x.expr, u)
	g.Lost = spec.Gaps["when"]
	all.Add(u)
}
