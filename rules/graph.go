package rules

import (
	"slices"
	"strings"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"

	"kanon.dev/kanon/rules/celenv"
)

// link works out which child needs which, and puts them in an order in which
// each comes after those it needs. Children that need each other are reported.
func (c *compiler) link(p *Program, nodes []*nodeUses) []int {
	for i, n := range nodes {
		child := p.children[i]
		for _, r := range n.children {
			if j, ok := p.byID[r.id]; ok && !slices.Contains(child.needs, j) {
				child.needs = append(child.needs, j)
			}
		}
		for _, d := range n.spec.dependsOn {
			j, ok := p.byID[d.id]
			switch {
			case !ok:
				c.report(d.pos, "dependsOn: there is no child called %q%s", d.id, didYouMean(d.id, c.childIDs()))
			case j == i:
				c.report(d.pos, "dependsOn: %s cannot depend on itself", d.id)
			case !slices.Contains(child.waitsFor, j):
				child.waitsFor = append(child.waitsFor, j)
			}
		}
	}
	order, cycle := sortNodes(p.children)
	if cycle != nil {
		ids := make([]string, len(cycle))
		for i, n := range cycle {
			ids[i] = p.children[n].ID
		}
		first := p.children[cycle[0]]
		if len(cycle) == 2 {
			c.report(first.Position, "%s reads itself", ids[0])
		} else {
			c.report(first.Position, "children need each other: %s", strings.Join(ids, " → "))
		}
	}
	return order
}

// sortNodes gives an order, as near to that of the rule as it can be, or a
// cycle that starts and ends with the same node.
func sortNodes(children []*compiledChild) (order, cycle []int) {
	const (
		unseen = iota
		open
		done
	)
	state := make([]int, len(children))
	var path []int
	var visit func(i int) bool
	visit = func(i int) bool {
		switch state[i] {
		case done:
			return true
		case open:
			cycle = append(slices.Clone(path[slices.Index(path, i):]), i)
			return false
		}
		state[i] = open
		path = append(path, i)
		for _, j := range slices.Concat(children[i].needs, children[i].waitsFor) {
			if !visit(j) {
				return false
			}
		}
		path = path[:len(path)-1]
		state[i] = done
		order = append(order, i)
		return true
	}
	for i := range children {
		if !visit(i) {
			return nil, cycle
		}
	}
	return order, nil
}

// checkSkips reports reads of children that may be skipped by readers that may
// not be.
func (c *compiler) checkSkips(nodes []*nodeUses) {
	byID := map[string]*nodeUses{}
	for _, n := range nodes {
		byID[n.spec.id] = n
	}
	for _, reader := range nodes {
		for _, r := range reader.children {
			target := byID[r.id]
			if !r.hard || target == nil || target == reader || target.spec.when == nil || len(target.spec.forEach) > 0 {
				continue
			}
			if reader.asked[r.id] || containsAll(reader.conjuncts, target.conjuncts) {
				continue
			}
			c.report(r.pos, "%s reads children.%s, which is not there when its when is false: write children.?%s, or give %s the same when",
				reader.spec.id, r.id, r.id, reader.spec.id)
		}
	}
}

func containsAll(have, want []string) bool {
	for _, w := range want {
		if !slices.Contains(have, w) {
			return false
		}
	}
	return len(want) > 0
}

// conjuncts are the terms that && joins in an expression.
func conjuncts(x *celenv.Expression) []string {
	var out []string
	var walk func(e ast.Expr)
	walk = func(e ast.Expr) {
		if e.Kind() == ast.CallKind && e.AsCall().FunctionName() == operators.LogicalAnd {
			for _, arg := range e.AsCall().Args() {
				walk(arg)
			}
			return
		}
		out = append(out, x.Source(e))
	}
	walk(x.Root())
	return out
}

// checkIdentities reports children that would be one and the same object.
func (c *compiler) checkIdentities(p *Program) {
	type identity struct{ group, kind, namespace, name string }
	seen := map[identity]int{}
	for i, child := range p.children {
		spec := &c.rule.children[i]
		metadata := spec.template.get("metadata")
		name, ok := metadata.get("name").text()
		if !ok || len(spec.forEach) > 0 || child.GVK.Kind == "" {
			continue
		}
		namespace, _ := metadata.get("namespace").text()
		id := identity{child.GVK.Group, child.GVK.Kind, namespace, name}
		first, twice := seen[id]
		if !twice {
			seen[id] = i
			continue
		}
		if !exclusive(spec, &c.rule.children[first]) {
			c.report(c.rule.src.at(metadata.get("name").yaml), "%s is the same object as %s: both are %s %s", child.ID, p.children[first].ID, child.GVK.Kind, quoted(name))
		}
	}
}

// exclusive says whether two children have conditions that may leave out one
// of them.
func exclusive(a, b *childSpec) bool {
	if a.when == nil || b.when == nil {
		return false
	}
	at, _ := a.when.text()
	bt, _ := b.when.text()
	return at != bt
}

// checkRecursion reports a rule whose children are parents of the same rule,
// each of which would have children again.
func (c *compiler) checkRecursion(p *Program) {
	bounded := p.parentWhen != nil || !isUnbounded(p.parent.Selector)
	inNamespaces := len(p.parent.Namespaces) > 0 || !isUnbounded(p.parent.NamespaceSelector)
	for i, child := range p.children {
		spec := &c.rule.children[i]
		if bounded || spec.when != nil || child.GVK.GroupKind() != p.parent.GVK.GroupKind() {
			continue
		}
		if inNamespaces && spec.template.get("metadata").get("namespace") != nil {
			continue // the child may be in a namespace whose objects are no parents
		}
		c.report(child.Position, "%s is a %s like the parent, so every child would be a parent with children of its own without end: "+
			"give the child a when, or the parent a selector or a when, that ends this", child.ID, child.GVK.Kind)
	}
}
