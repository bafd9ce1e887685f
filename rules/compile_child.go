package rules

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/cel-go/common/types"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kanon.dev/kanon/rules/check"
	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/flow"
	"kanon.dev/kanon/rules/program"
	"kanon.dev/kanon/rules/syntax"
	"kanon.dev/kanon/rules/yamltree"
)

func (c *compiler) child(spec *syntax.Child, p *program.Program) (*program.Child, *childNode) {
	path := "children." + spec.ID
	if spec.ID == "" {
		path = spec.Label()
	}
	child := &program.Child{
		ID: spec.ID, Position: spec.Pos, IsList: spec.Many(), UpdatePolicy: spec.UpdatePolicy, Namespaced: true,
		Propagation: cmp.Or(spec.RecreatePropagation, metav1.DeletePropagationForeground),
		Adopt:       spec.Adopt, Optional: spec.Optional, Cleanup: spec.Cleanup, Elsewhere: spec.NamesNamespace(),
	}
	n := &childNode{Spec: spec, Guard: flow.Guard{Given: spec.When != nil, Lost: spec.Gaps["when"]}}
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
		n.Guard = n.Guard.Under(finalizingGuard())
	}
	if spec.Optional {
		n.Guard = n.Guard.Under(optionalGuard(child.GVK))
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
		c.checkSteady(spec, &from.Origin)
	}
	c.checkRandomIdentity(spec, u)
	if rendered.Own != "" {
		c.checkGenerated(spec, child, sc.locals, u)
	}
	c.checkSelfWait(spec)
	c.checkConstantNames(spec.Template.Get("metadata"), child.GVK.GroupKind())
}

// hasPrivateNames reports whether the name or the namespace of a child's objects is computed from a Secret.
func (c *compiler) hasPrivateNames(spec *syntax.Child) bool {
	metadata := spec.Template.Get("metadata")
	if spec.Template.Kind != yamltree.Mapping || metadata != nil && metadata.Kind != yamltree.Mapping {
		return c.isSecret(spec.Template, metadata) // an expression gives all of it
	}
	return c.isSecret(append(itemsOf(c.rootOf(spec).ForEach), metadata.Get("name"), metadata.Get("namespace"))...)
}

// findPrivate finds the children of which people must not be told the names or the keys. A child may be named after
// another one.
func (c *compiler) findPrivate(p *program.Program) {
	for found := true; found; {
		found = false
		for i, child := range p.Children {
			spec := &c.rule.Children[i]
			child.PrivateKeys = c.isSecret(spec.Template)
			if spec.Template != nil && !child.Private && c.hasPrivateNames(spec) {
				child.Private, c.private[child.ID], found = true, true, true
			}
		}
	}
}

func (c *compiler) checkTemplate(spec *syntax.Child, child *program.Child) {
	check.Refused(c.Reporter, spec.Template, child.GVK.GroupKind())
	c.checkItems(spec)
	if c.reads != nil {
		c.checkImmutable(spec, child)
	}
}

// childKind looks up the kind of a child's template, and reports whether it has a status subresource.
func (c *compiler) childKind(spec *syntax.Child, child *program.Child, p *program.Program) (hasStatus bool) {
	child.GVK = check.KindOf(c.Reporter, spec)
	kind, known := c.kind(child.GVK, spec.Template, childVerbs(), kindUse{node: "child " + spec.Label(), optional: spec.Optional})
	child.Namespaced = kind.Namespaced
	child.Unresolved = c.isUnresolved(known, child.GVK)
	c.checkPrivilege("child "+spec.Label(), child.GVK, spec.Template)
	c.confine("child "+spec.Label(), child.GVK, child.Namespaced, spec.Template, spec.Template.Get("metadata").Get("namespace"))
	check.Metadata(c.Reporter, spec, child.GVK.GroupKind(), c.schemaOf(child.GVK) != nil)
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
	by := &reader{Label: ready.Place, ID: spec.ID, Bare: true, Guard: guard}
	x, part := c.boolean(spec.ReadyWhen, ready, &by.Uses)
	if x != nil && strings.TrimSpace(x.run.Text) != "true" {
		c.checkConstant(spec.ReadyWhen, part, x, ready)
	}
	child.ReadyWhen = x.compiled()
	c.readers = append(c.readers, by)
}

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
		case program.Expr:
			c.checkRange(f.In, x.X, from.typ, in)
			c.constants.Try(f.In, t, c.constantsOf(in), in.Place, attemptOf(program.ItemsOf))
		case program.Text:
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

func (c *compiler) checkRange(n *yamltree.Node, x *program.Expression, typ check.Type, sc *compileScope) {
	if typ.CanBe(types.ListKind, types.MapKind, types.StructKind, types.NullTypeKind) {
		return
	}
	s, _ := n.Text()
	f := c.ReportSpan(n, strings.Index(s, x.Text), len(x.Text), diagnostic.CodeResultType, "%s must be a list or a map, and this gives %s", sc.Place, typ.Inner())
	if typ.CanBe(types.IntKind) {
		f.WithHint("write lists.range(%s) for an item for each number from 0", program.Shorten(x.Text))
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

// family are the children that share their items: one with a forEach of its own, and those with sameAs.
type family struct {
	root    *syntax.Child
	members []string
	// dims, names and uses come from the root's forEach. They are compiled when the first member is.
	compiled bool
	dims     []program.Dimension
	names    map[string]*origin
	uses     flow.Uses
	// single is true if the forEach certainly gives one item at most.
	single bool
}

// pairUp finds the family of each child with sameAs, and reports those without one.
func (c *compiler) pairUp() {
	for i := range c.rule.Children {
		spec := &c.rule.Children[i]
		if spec.SameAs == nil {
			continue
		}
		root := c.itemsOf(spec)
		if root == nil {
			continue
		}
		f := c.families[root.ID]
		if f == nil {
			f = &family{root: root, members: []string{root.ID}}
			c.families[root.ID] = f
		}
		if spec.ID != "" {
			f.members = append(f.members, spec.ID)
			c.families[spec.ID] = f
		}
	}
}

// itemsOf follows sameAs to the child with items of its own. It is nil after a finding, here or at another link of the
// chain.
func (c *compiler) itemsOf(spec *syntax.Child) *syntax.Child {
	at, path := spec, []string{spec.ID}
	for at.SameAs != nil {
		next := c.children[at.SameAs.ID]
		switch {
		case next == nil:
			if at == spec && !c.rule.OpenChildren {
				c.Report(at.SameAs.Pos, diagnostic.CodeUnknownChild, "there is no child called %q", at.SameAs.ID).Suggest(at.SameAs.ID, slices.Sorted(maps.Keys(c.children)))
			}
			return nil
		case slices.Contains(path, next.ID):
			if next == spec && spec.ID == slices.Min(path) { // once for each cycle
				f := c.Report(at.SameAs.Pos, diagnostic.CodePairCycle, "sameAs leads back to where it began: %s", strings.Join(append(path, next.ID), " → "))
				for _, id := range path[:len(path)-1] {
					f.WithRelated(c.children[id].SameAs.Pos, "%s has the items of this one", id)
				}
			}
			return nil
		}
		at, path = next, append(path, next.ID)
	}
	if at.Gaps["forEach"] {
		return nil
	}
	if len(at.ForEach) == 0 {
		if spec.SameAs.ID == at.ID {
			c.Report(spec.SameAs.Pos, diagnostic.CodePairedWithOne, "%s makes one object and has no items", at.Label()).
				WithRelated(at.Pos, "the child is here").WithHint("give %s a forEach, or leave out this one", at.Label())
		}
		return nil
	}
	return at
}

func (c *compiler) childItems(spec *syntax.Child, child *program.Child, sc *compileScope, n *childNode) {
	f := c.families[spec.ID]
	if f == nil || f.root != spec && spec.SameAs == nil {
		if spec.SameAs != nil {
			sc.OpenNames = true // the reason was reported
			return
		}
		child.ForEach = c.dimensions(spec.ForEach, sc, &n.Uses)
		return
	}
	if !f.compiled {
		f.compiled = true
		rootScope := c.bodyScope(flow.RootChildren+"."+f.root.ID, &f.root.Body)
		f.dims = c.dimensions(f.root.ForEach, rootScope, &f.uses)
		f.names, f.single = rootScope.names, c.atMostOneItem(f.root)
	}
	child.ForEach, child.SameItems = f.dims, true
	n.Add(&f.uses)
	maps.Copy(sc.names, f.names)
	if spec.SameAs != nil {
		sc.OpenNames = sc.OpenNames || f.root.OpenNames
		sc.Family = f.members
	}
}

// rootOf is the child whose forEach gives the items of a child: another one, or the child itself.
func (c *compiler) rootOf(spec *syntax.Child) *syntax.Child {
	if f := c.families[spec.ID]; f != nil {
		return f.root
	}
	return spec
}

// checkItems reports items that would all be the same object. The template is compiled before.
func (c *compiler) checkItems(spec *syntax.Child) {
	root := spec
	if f := c.families[spec.ID]; f != nil && spec.Many() {
		if root = f.root; f.single {
			return
		}
	} else if c.atMostOneItem(spec) {
		return
	}
	c.checkSameItems(spec, root)
}

func (c *compiler) linkFamilies(p *program.Program) {
	for i, child := range p.Children {
		child.Root = i
		if f := c.families[child.ID]; f != nil && child.SameItems {
			child.Root = p.ByID[f.root.ID]
		}
	}
}
