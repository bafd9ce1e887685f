package rules

import (
	"maps"
	"slices"
	"strings"

	"kanon.dev/kanon/rules/diagnostic"
)

// family are the children that have the same items: one with items of its own,
// and those that say sameAs.
type family struct {
	root    *childSpec
	members []string
	// dims, names and uses are the root's forEach, compiled at first need.
	compiled bool
	dims     []dimension
	names    map[string]*origin
	uses     uses
	// single is true where it can be seen that there is one item at most.
	single bool
}

// pairUp finds the family of each child that has the items of another one, and
// reports the others that say so.
func (c *compiler) pairUp() {
	for i := range c.rule.children {
		spec := &c.rule.children[i]
		if spec.sameAs == nil {
			continue
		}
		root := c.itemsOf(spec)
		if root == nil {
			continue
		}
		f := c.families[root.id]
		if f == nil {
			f = &family{root: root, members: []string{root.id}}
			c.families[root.id] = f
		}
		if spec.id != "" {
			f.members = append(f.members, spec.id)
			c.families[spec.id] = f
		}
	}
}

// itemsOf follows sameAs to the child that has items of its own; nil after a
// finding, here or where the chain is wrong.
func (c *compiler) itemsOf(spec *childSpec) *childSpec {
	at, path := spec, []string{spec.id}
	for at.sameAs != nil {
		next := c.children[at.sameAs.id]
		switch {
		case next == nil:
			if at == spec && !c.rule.openChildren {
				c.report(at.sameAs.pos, diagnostic.CodeUnknownChild, "there is no child called %q", at.sameAs.id).WithHint("%s", diagnostic.DidYouMean(at.sameAs.id, c.childIDs()))
			}
			return nil
		case slices.Contains(path, next.id):
			if next == spec && spec.id == slices.Min(path) { // once for each cycle
				c.report(at.sameAs.pos, diagnostic.CodePairCycle, "sameAs leads back to where it began: %s", strings.Join(append(path, next.id), " → "))
			}
			return nil
		}
		at, path = next, append(path, next.id)
	}
	if at.gaps["forEach"] {
		return nil
	}
	if len(at.forEach) == 0 {
		if spec.sameAs.id == at.id {
			c.report(spec.sameAs.pos, diagnostic.CodePairedWithOne, "%s makes one object and has no items", at.label()).
				WithHint("give %s a forEach, or leave out this one", at.label())
		}
		return nil
	}
	return at
}

// childItems compiles what a child is made for: its own forEach, or that of the
// child whose items it has.
func (c *compiler) childItems(spec *childSpec, child *compiledChild, sc *compileScope, n *nodeUses) {
	f := c.families[spec.id]
	if f == nil || f.root != spec && spec.sameAs == nil {
		if spec.sameAs != nil {
			sc.openNames = true // the reason was reported
			return
		}
		child.forEach = c.dimensions(spec.forEach, sc, &n.uses)
		return
	}
	if !f.compiled {
		f.compiled = true
		rootScope := &compileScope{
			place: rootChildren + "." + f.root.id, allowChildren: true, asked: c.asked,
			openNames: f.root.openNames, openVariables: f.root.openVariables, names: map[string]*origin{},
		}
		f.dims = c.dimensions(f.root.forEach, rootScope, &f.uses)
		f.names, f.single = rootScope.names, c.atMostOneItem(f.root)
	}
	child.forEach, child.sameItems = f.dims, true
	n.add(&f.uses)
	maps.Copy(sc.names, f.names)
	if spec.sameAs != nil {
		sc.openNames = sc.openNames || f.root.openNames
		sc.family = f.members
	}
}

// linkFamilies notes for each child which one has the forEach of its items.
func (c *compiler) linkFamilies(p *Program) {
	for i, child := range p.children {
		child.root = i
		if f := c.families[child.ID]; f != nil && child.sameItems {
			child.root = p.byID[f.root.id]
		}
	}
}
