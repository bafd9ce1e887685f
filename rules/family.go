package rules

import (
	"maps"
	"slices"
	"strings"

	"kanon.dev/kanon/rules/dependency"
	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/flow"
	"kanon.dev/kanon/rules/identity"
	"kanon.dev/kanon/rules/program"
	"kanon.dev/kanon/rules/syntax"
	"kanon.dev/kanon/rules/yamltree"
)

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

// childItems compiles the items of a child: its own forEach, or that of its family.
func (c *compiler) childItems(spec *syntax.Child, child *program.Child, sc *compileScope, n *dependency.Node) {
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
		f.names, f.single = rootScope.names, identity.AtMostOneItem(f.root, c.parsed)
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
	} else if identity.AtMostOneItem(spec, c.parsed) {
		return
	}
	identity.CheckItems(c.Reporter, spec, root, func(n *yamltree.Node) bool {
		r, compiled := c.results[n]
		return !compiled || r.items
	})
}

// linkFamilies records for each child which one has the forEach of its items.
func (c *compiler) linkFamilies(p *program.Program) {
	for i, child := range p.Children {
		child.Root = i
		if f := c.families[child.ID]; f != nil && child.SameItems {
			child.Root = p.ByID[f.root.ID]
		}
	}
}
