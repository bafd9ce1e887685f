package dependency

import (
	"maps"
	"slices"
	"strings"

	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/flow"
	"kanon.dev/kanon/rules/program"
	"kanon.dev/kanon/rules/reporting"
	"kanon.dev/kanon/rules/syntax"
)

// Graph is a rule whose parts are all compiled.
type Graph struct {
	*reporting.Reporter
	Rule     *syntax.Rule
	Program  *program.Program
	Children map[string]*syntax.Child
	// Lookup is a lookup of the rule; nil if no lookup has the id.
	Lookup func(id string) *flow.Lookup
	// Nodes are the children in the order of the rule.
	Nodes []*Node
	// Readers are the parts, besides the nodes, that must not read what is skipped.
	Readers []*Reader
}

// Node is what one child reads, by the part that reads it.
type Node struct {
	Spec *syntax.Child
	flow.Uses
	Guard flow.Guard
	// Creation is the guard that createWhen is for the readers of the child.
	Creation flow.Guard
}

// Order finds which child needs which, and returns an order in which each comes after those it needs. It reports
// children that need each other.
func (g *Graph) Order() []int {
	p := g.Program
	for i, n := range g.Nodes {
		child := p.Children[i]
		for _, r := range n.Nodes {
			if j, ok := p.ByID[r.ID]; ok && r.Orders() && !slices.Contains(child.Needs, j) {
				child.Needs = append(child.Needs, j)
			}
		}
		for _, d := range n.Spec.DependsOn {
			j, ok := p.ByID[d.ID]
			switch {
			case !ok:
				if d.ID != "" && !g.Rule.OpenChildren {
					g.Report(d.Pos, diagnostic.CodeUnknownChild, "dependsOn: there is no child called %q", d.ID).
						Suggest(d.ID, slices.DeleteFunc(slices.Sorted(maps.Keys(g.Children)), func(id string) bool { return id == n.Spec.ID }))
				}
			case j == i:
				g.Report(d.Pos, diagnostic.CodeSelfReference, "dependsOn: %s cannot depend on itself", d.ID).WithHint("leave it out")
			case !slices.Contains(child.WaitsFor, j):
				child.WaitsFor = append(child.WaitsFor, j)
			}
		}
	}
	needs := make([][]int, len(p.Children))
	for i, child := range p.Children {
		needs[i] = slices.Concat(child.Needs, child.WaitsFor)
	}
	order, cycles := flow.Sort(needs)
	g.reportCycles(p, cycles)
	return order
}

// reportCycles reports children that need each other.
func (g *Graph) reportCycles(p *program.Program, cycles [][]int) {
	for _, cycle := range cycles {
		ids := make([]string, len(cycle))
		for i, n := range cycle {
			ids[i] = p.Children[n].ID
		}
		first := p.Children[cycle[0]]
		if len(cycle) == 2 {
			g.Report(first.Position, diagnostic.CodeSelfReference, "%s reads itself", ids[0]).
				WithHint("to read the object that exists already, write observed.%s", ids[0])
		} else {
			f := g.Report(first.Position, diagnostic.CodeChildCycle, "children depend on each other: %s", strings.Join(ids, " → "))
			f.WithHint("read one of them as observed.<id>, which waits for nothing")
			for at, n := range cycle[1 : len(cycle)-1] {
				f.WithRelated(p.Children[n].Position, "which needs %s", ids[at+2])
			}
		}
	}
}

// Rank sets the rank of each child: the length of the longest chain of nodes before it.
func Rank(p *program.Program) {
	for _, i := range p.Order {
		child := p.Children[i]
		for _, j := range slices.Concat(child.Needs, child.WaitsFor) {
			child.Rank = max(child.Rank, p.Children[j].Rank+1)
		}
	}
}
