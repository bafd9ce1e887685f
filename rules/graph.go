package rules

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/flow"
	"kanon.dev/kanon/rules/program"
	"kanon.dev/kanon/rules/syntax"
	"kanon.dev/kanon/rules/yamltree"
)

// link works out which child needs which, and puts them in an order in which
// each comes after those it needs. Children that need each other are reported.
func (c *compiler) link(p *program.Program, nodes []*nodeUses) []int {
	for i, n := range nodes {
		child := p.Children[i]
		for _, r := range n.Nodes {
			if j, ok := p.ByID[r.ID]; ok && r.Orders() && !slices.Contains(child.Needs, j) {
				child.Needs = append(child.Needs, j)
			}
		}
		for _, d := range n.spec.DependsOn {
			j, ok := p.ByID[d.ID]
			switch {
			case !ok:
				if d.ID != "" && !c.rule.OpenChildren {
					c.report(d.Pos, diagnostic.CodeUnknownChild, "dependsOn: there is no child called %q", d.ID).
						Suggest(d.ID, slices.DeleteFunc(slices.Sorted(maps.Keys(c.children)), func(id string) bool { return id == n.spec.ID }))
				}
			case j == i:
				c.report(d.Pos, diagnostic.CodeSelfReference, "dependsOn: %s cannot depend on itself", d.ID).WithHint("leave it out")
			case !slices.Contains(child.WaitsFor, j):
				child.WaitsFor = append(child.WaitsFor, j)
			}
		}
	}
	c.linkFamilies(p)
	needs := make([][]int, len(p.Children))
	for i, child := range p.Children {
		needs[i] = slices.Concat(child.Needs, child.WaitsFor)
	}
	order, cycles := flow.Sort(needs)
	c.reportCycles(p, cycles)
	return order
}

// reportCycles reports children that need each other.
func (c *compiler) reportCycles(p *program.Program, cycles [][]int) {
	for _, cycle := range cycles {
		ids := make([]string, len(cycle))
		for i, n := range cycle {
			ids[i] = p.Children[n].ID
		}
		first := p.Children[cycle[0]]
		if len(cycle) == 2 {
			c.report(first.Position, diagnostic.CodeSelfReference, "%s reads itself", ids[0]).
				WithHint("to read the object that exists already, write observed.%s", ids[0])
		} else {
			f := c.report(first.Position, diagnostic.CodeChildCycle, "children depend on each other: %s", strings.Join(ids, " → "))
			f.WithHint("read one of them as observed.<id>, which waits for nothing")
			for at, n := range cycle[1 : len(cycle)-1] {
				f.WithRelated(p.Children[n].Position, "which needs %s", ids[at+2])
			}
		}
	}
}

// reader is a part of the rule that reads nodes and is no node itself: a condition,
// an event, a readyWhen.
type reader struct {
	// label names it in findings.
	label string
	// id is the child that it is a part of.
	id string
	// bare is true where it cannot have a when of its own.
	bare bool
	flow.Uses
	guard flow.Guard
}

// checkSkips reports reads of nodes that may be skipped, or null, by readers that
// do not ask. rest is what the parts of the rule read that may read what is
// skipped.
func (c *compiler) checkSkips(nodes []*nodeUses, rest *flow.Uses) {
	byID := map[string]*nodeUses{}
	for _, n := range nodes {
		byID[n.spec.ID] = n
		c.readers = append(c.readers, &reader{label: n.spec.Label(), id: n.spec.ID, Uses: n.Uses, guard: n.guard})
	}
	for _, by := range c.readers {
		for _, r := range by.Nodes {
			switch {
			case !r.Hard:
			case r.Past:
				c.checkPast(by.label, r, &by.guard)
			case r.Root == flow.RootLookups:
				c.checkSkippedLookup(by, r)
			case by.id == "" || r.ID != by.id:
				c.checkSkippedChild(by, r, byID[r.ID])
			}
		}
	}
	for _, r := range rest.Nodes {
		if r.Past {
			c.checkPast("this", r, &flow.Guard{})
		}
	}
}

func (c *compiler) checkSkippedChild(by *reader, r flow.Ref, target *nodeUses) {
	if target == nil || r.Root == flow.RootObserved {
		return
	}
	if r.Root == flow.RootChildren && (target.spec.Many() || target.spec.Gaps["forEach"]) {
		return // a list, which lacks what is skipped
	}
	var f *diagnostic.Finding
	switch {
	case target.creation.Given && !flow.Ensured(r, &by.guard, &target.creation):
		f = c.report(r.Pos, diagnostic.CodeUncreatedChild, "%s reads %s, which does not exist if its createWhen is false before it is created", by.label, r.Name())
		c.relate(f, target.spec.CreateWhen, "the createWhen is here")
	case target.guard.Given && !flow.Ensured(r, &by.guard, &target.guard):
		absent := "while its when is false"
		if c.differOnlyInKind(&by.guard, target) {
			absent = "while the cluster does not have its kind, because it is optional"
		}
		if target.spec.Cleanup && target.spec.When == nil {
			absent = "while the parent is not being deleted"
		}
		f = c.report(r.Pos, diagnostic.CodeSkippedChild, "%s reads %s, which does not exist %s", by.label, r.Name(), absent)
		c.relate(f, target.spec.When, "the when is here")
	default:
		return
	}
	switch {
	case by.bare, target.spec.Optional && f.Code == diagnostic.CodeSkippedChild:
		f.WithHint("write %s.?%s with a default", r.Root, r.ID)
	case f.Code == diagnostic.CodeUncreatedChild:
		f.WithHint("write %s.?%s with a default, or give %s a when of that condition", r.Root, r.ID, by.label)
	default:
		f.WithHint("write %s.?%s, or give %s the same when", r.Root, r.ID, by.label)
	}
}

// relate shows a part of the rule that a finding follows from; nothing if there is none.
func (c *compiler) relate(f *diagnostic.Finding, n *yamltree.Node, label string) *diagnostic.Finding {
	if n != nil {
		f.WithRelated(c.rule.Source.At(n), "%s", label)
	}
	return f
}

func (c *compiler) checkSkippedLookup(by *reader, r flow.Ref) {
	l := c.lookups[r.ID]
	if l == nil || !l.guard.Given || l.spec.Optional || len(l.spec.ForEach) > 0 || l.spec.Gaps["forEach"] || l.spec.Gaps["optional"] {
		return
	}
	if !flow.Ensured(r, &by.guard, &l.guard) {
		f := c.report(r.Pos, diagnostic.CodeSkippedLookup, "%s reads %s, which has no value while its when is false", by.label, r.Name())
		c.relate(f, l.spec.When, "the when is here")
		if by.bare {
			f.WithHint("write lookups.?%s with a default, or make the lookup optional", r.ID)
			return
		}
		f.WithHint("write lookups.?%s, give %s the same when, or make the lookup optional", r.ID, by.label)
	}
}

// lookupAt is where a lookup is declared.
func (c *compiler) lookupAt(id string) diagnostic.Position {
	if l := c.lookups[id]; l != nil {
		return l.spec.Pos
	}
	return diagnostic.Position{}
}

// checkPast reports a read of something in an optional lookup.
func (c *compiler) checkPast(reader string, r flow.Ref, by *flow.Guard) {
	if !by.Asked[r.Name()] && !by.Lost && !slices.ContainsFunc(r.Guards, func(g *flow.Guard) bool { return g.Asked[r.Name()] || g.Lost }) {
		c.report(r.Pos, diagnostic.CodeUnguardedLookup, "%s reads something in %s, which is optional, and waits while that does not exist", reader, r.Name()).
			WithRelated(c.lookupAt(r.ID), "the lookup is here").WithHint("read it as lookups.?%s with a default, or test it with has(lookups.%s)", r.ID, r.ID)
	}
}

// checkIdentities reports children that would be one and the same object.
func (c *compiler) checkIdentities(p *program.Program) {
	type identity struct{ group, kind, namespace, name string }
	seen := map[identity]int{}
	for i, child := range p.Children {
		spec := &c.rule.Children[i]
		metadata := spec.Template.Get("metadata")
		name, ok := metadata.Get("name").Text()
		if !ok || spec.Many() || spec.Gaps["forEach"] || spec.Gaps["when"] || child.GVK.Kind == "" {
			continue
		}
		namespace, _ := metadata.Get("namespace").Text()
		if namespace = flow.SameText(namespace); namespace == "${parent.metadata.namespace}" {
			namespace = "" // as where it is left out
		}
		id := identity{child.GVK.Group, child.GVK.Kind, namespace, flow.SameText(name)}
		first, twice := seen[id]
		if !twice {
			seen[id] = i
			continue
		}
		if !exclusive(spec, &c.rule.Children[first]) {
			c.reportNode(metadata.Get("name"), diagnostic.CodeSameObject, "%s is the same object as %s: both are %s %s",
				spec.Label(), c.rule.Children[first].Label(), child.GVK.Kind, strconv.Quote(name)).
				WithRelated(c.rule.Source.At(c.rule.Children[first].Template.Get("metadata").Get("name")), "the first one")
		}
	}
}

// exclusive says whether two children have conditions that may leave out one
// of them.
func exclusive(a, b *syntax.Child) bool {
	if a.When == nil || b.When == nil {
		return false
	}
	at, _ := a.When.Text()
	bt, _ := b.When.Text()
	return at != bt
}

// checkRecursion reports a rule whose children are parents of the same rule,
// each of which would have children again.
func (c *compiler) checkRecursion(p *program.Program) {
	parent := c.rule.Parent
	bounded := parent.When != nil || !isUnbounded(p.Parent.Selector) || parent.Gaps["when"] || parent.Gaps["selector"]
	inNamespaces := len(p.Parent.Namespaces) > 0 || !isUnbounded(p.Parent.NamespaceSelector) ||
		parent.Gaps["namespaces"] || parent.Gaps["namespaceSelector"]
	for i, child := range p.Children {
		spec := &c.rule.Children[i]
		if bounded || spec.When != nil || spec.Gaps["when"] || child.GVK.Kind == "" || child.GVK.GroupKind() != p.Parent.GVK.GroupKind() {
			continue
		}
		if inNamespaces && spec.Template.Get("metadata").Get("namespace") != nil {
			continue // the child may be in a namespace whose objects are no parents
		}
		c.report(child.Position, diagnostic.CodeRecursion, "%s is a %s like the parent, so every child would be a parent with children of its own without end", spec.Label(), child.GVK.Kind).
			WithRelated(parent.Pos, "the kind of the parent").WithHint("give the child a when, or the parent a selector or a when, that ends this")
	}
}

// optionalGuard is the condition under which an optional child exists: that the
// cluster has its kind. Kinds of one group are installed together, so what is
// optional itself and of the same group may read it.
func optionalGuard(gvk schema.GroupVersionKind) flow.Guard {
	return flow.Guard{Given: true, Conjuncts: []string{optionalTerm(gvk.Group)}, Asked: map[string]bool{}}
}

// optionalTerm is a term that no expression has.
func optionalTerm(group string) string { return "\x00the cluster has kinds of " + group }

// differOnlyInKind tells whether a reader has the conditions of the child that it
// reads, except for that of its kind.
func (c *compiler) differOnlyInKind(reader *flow.Guard, target *nodeUses) bool {
	if !target.spec.Optional {
		return false
	}
	for _, term := range target.guard.Conjuncts {
		if term != optionalTerm(syntax.TemplateGVK(target.spec.Template).Group) && !slices.Contains(reader.Conjuncts, term) {
			return false
		}
	}
	return true
}

// rankChildren counts the nodes that each one follows on.
func rankChildren(p *program.Program) {
	for _, i := range p.Order {
		child := p.Children[i]
		for _, j := range slices.Concat(child.Needs, child.WaitsFor) {
			child.Rank = max(child.Rank, p.Children[j].Rank+1)
		}
	}
}

// A child whose template cannot be rendered without a field of its own observed object is never
// created, because the field comes with the object: it waits for itself.

// checkSelfWait reports the expressions of a template that always read a field of the child's own
// observed object. A child that may exist without the rule having created it is not asked.
func (c *compiler) checkSelfWait(spec *syntax.Child) {
	if spec.ID == "" || spec.Many() || spec.Adopt || spec.When != nil || spec.CreateWhen != nil {
		return
	}
	var walk func(n *yamltree.Node)
	walk = func(n *yamltree.Node) {
		for _, f := range n.Fields {
			walk(f.Value)
		}
		for _, item := range n.Items {
			walk(item)
		}
		if x := c.results[n].x; x != nil && flow.AlwaysReads(x.expr.Root(), spec.ID) {
			c.reportNode(n, diagnostic.CodeSelfReference, "%s cannot be created: this waits for a field of observed.%s, which comes with the object", spec.ID, spec.ID).
				WithHint("begin with a ?, as in observed.%s.?…, and give a value for when the object does not exist, with orValue(…) or optMap(…)", spec.ID)
		}
	}
	if spec.Template != nil {
		walk(spec.Template)
	}
}
