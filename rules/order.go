package rules

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/flow"
	"kanon.dev/kanon/rules/program"
	"kanon.dev/kanon/rules/syntax"
)

// childNode is what one child reads, by the part that reads it.
type childNode struct {
	Spec *syntax.Child
	flow.Uses
	Guard flow.Guard
	// Creation is the guard that createWhen is for the readers of the child.
	Creation flow.Guard
}

// orderChildren finds which child needs which, and returns an order in which each comes after those it needs. It reports
// children that need each other.
func (c *compiler) orderChildren(p *program.Program, nodes []*childNode) []int {
	for i, n := range nodes {
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
				if d.ID != "" && !c.rule.OpenChildren {
					c.Report(d.Pos, diagnostic.CodeUnknownChild, "dependsOn: there is no child called %q", d.ID).
						Suggest(d.ID, slices.DeleteFunc(slices.Sorted(maps.Keys(c.children)), func(id string) bool { return id == n.Spec.ID }))
				}
			case j == i:
				c.Report(d.Pos, diagnostic.CodeSelfReference, "dependsOn: %s cannot depend on itself", d.ID).WithHint("leave it out")
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
	c.reportChildCycles(p, cycles)
	return order
}

func (c *compiler) reportChildCycles(p *program.Program, cycles [][]int) {
	for _, cycle := range cycles {
		ids := make([]string, len(cycle))
		for i, n := range cycle {
			ids[i] = p.Children[n].ID
		}
		first := p.Children[cycle[0]]
		if len(cycle) == 2 {
			c.Report(first.Position, diagnostic.CodeSelfReference, "%s reads itself", ids[0]).
				WithHint("to read the object that exists already, write observed.%s", ids[0])
		} else {
			f := c.Report(first.Position, diagnostic.CodeChildCycle, "children depend on each other: %s", strings.Join(ids, " → "))
			f.WithHint("read one of them as observed.<id>, which waits for nothing")
			for at, n := range cycle[1 : len(cycle)-1] {
				f.WithRelated(p.Children[n].Position, "which needs %s", ids[at+2])
			}
		}
	}
}

// rankChildren sets the rank of each child: the length of the longest chain of nodes before it.
func rankChildren(p *program.Program) {
	for _, i := range p.Order {
		child := p.Children[i]
		for _, j := range slices.Concat(child.Needs, child.WaitsFor) {
			child.Rank = max(child.Rank, p.Children[j].Rank+1)
		}
	}
}

// reader is a part of the rule that reads nodes and is no node itself: a condition, an event, a readyWhen.
type reader struct {
	// Label names it in findings.
	Label string
	// ID is the child that it belongs to.
	ID string
	// Bare is true if it cannot have a when of its own.
	Bare bool
	flow.Uses
	Guard flow.Guard
}

// checkSkips reports reads of nodes that may be skipped, or null, by readers that do not test for them. rest is what
// those parts of the rule read that may read what is skipped.
func (c *compiler) checkSkips(nodes []*childNode, rest *flow.Uses) {
	byID, readers := map[string]*childNode{}, slices.Clip(c.readers)
	for _, n := range nodes {
		byID[n.Spec.ID] = n
		readers = append(readers, &reader{Label: n.Spec.Label(), ID: n.Spec.ID, Uses: n.Uses, Guard: n.Guard})
	}
	for _, by := range readers {
		for _, r := range by.Nodes {
			switch {
			case !r.Hard:
			case r.Past:
				c.checkPast(by.Label, r, &by.Guard)
			case r.Root == flow.RootLookups:
				c.checkSkippedLookup(by, r)
			case by.ID == "" || r.ID != by.ID:
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

func (c *compiler) checkSkippedChild(by *reader, r flow.Ref, target *childNode) {
	if target == nil || r.Root == flow.RootObserved {
		return
	}
	if r.Root == flow.RootChildren && (target.Spec.Many() || target.Spec.Gaps["forEach"]) {
		return // a list, which lacks what is skipped
	}
	var f *diagnostic.Finding
	switch {
	case target.Creation.Given && !flow.Ensured(r, &by.Guard, &target.Creation):
		f = c.Report(r.Pos, diagnostic.CodeUncreatedChild, "%s reads %s, which does not exist if its createWhen is false before it is created", by.Label, r.Name())
		c.Relate(f, target.Spec.CreateWhen, "the createWhen is here")
	case target.Guard.Given && !flow.Ensured(r, &by.Guard, &target.Guard):
		absent := "while its when is false"
		if differOnlyInKind(&by.Guard, target) {
			absent = "while the cluster does not have its kind, because it is optional"
		}
		if target.Spec.Cleanup && target.Spec.When == nil {
			absent = "while the parent is not being deleted"
		}
		f = c.Report(r.Pos, diagnostic.CodeSkippedChild, "%s reads %s, which does not exist %s", by.Label, r.Name(), absent)
		c.Relate(f, target.Spec.When, "the when is here")
	default:
		return
	}
	switch {
	case by.Bare, target.Spec.Optional && f.Code == diagnostic.CodeSkippedChild:
		f.WithHint("write %s.?%s with a default", r.Root, r.ID)
	case f.Code == diagnostic.CodeUncreatedChild:
		f.WithHint("write %s.?%s with a default, or give %s a when of that condition", r.Root, r.ID, by.Label)
	default:
		f.WithHint("write %s.?%s, or give %s the same when", r.Root, r.ID, by.Label)
	}
}

func (c *compiler) checkSkippedLookup(by *reader, r flow.Ref) {
	l := c.lookup(r.ID)
	if l == nil || !l.Guard.Given || l.Optional || len(l.ForEach) > 0 || l.Gaps["forEach"] || l.Gaps["optional"] {
		return
	}
	if !flow.Ensured(r, &by.Guard, l.Guard) {
		f := c.Report(r.Pos, diagnostic.CodeSkippedLookup, "%s reads %s, which has no value while its when is false", by.Label, r.Name())
		c.Relate(f, l.When, "the when is here")
		if by.Bare {
			f.WithHint("write lookups.?%s with a default, or make the lookup optional", r.ID)
			return
		}
		f.WithHint("write lookups.?%s, give %s the same when, or make the lookup optional", r.ID, by.Label)
	}
}

func (c *compiler) checkPast(reader string, r flow.Ref, by *flow.Guard) {
	if !by.Asked[r.Name()] && !by.Lost && !slices.ContainsFunc(r.Guards, func(guard *flow.Guard) bool { return guard.Asked[r.Name()] || guard.Lost }) {
		c.Report(r.Pos, diagnostic.CodeUnguardedLookup, "%s reads something in %s, which is optional, and waits while that does not exist", reader, r.Name()).
			WithRelated(c.lookups[r.ID].spec.Pos, "the lookup is here").WithHint("read it as lookups.?%s with a default, or test it with has(lookups.%s)", r.ID, r.ID)
	}
}

// optionalGuard is the condition under which an optional child exists, or an optional patch applies: the cluster has its
// kind. Kinds of one group are installed together, so another optional child or patch of the same group may read it.
func optionalGuard(gvk schema.GroupVersionKind) flow.Guard {
	return flow.Guard{Given: true, Conjuncts: []string{optionalTerm(gvk.Group)}, Asked: map[string]bool{}}
}

func finalizingGuard() flow.Guard {
	return flow.Guard{Given: true, Conjuncts: []string{flow.RootFinalizing}, Asked: map[string]bool{}}
}

func optionalTerm(group string) string { return "\x00the cluster has kinds of " + group }

// differOnlyInKind reports whether a reader has the conditions of the child that it reads, except for that of its kind.
func differOnlyInKind(reader *flow.Guard, target *childNode) bool {
	if !target.Spec.Optional {
		return false
	}
	for _, term := range target.Guard.Conjuncts {
		if term != optionalTerm(syntax.TemplateGVK(target.Spec.Template).Group) && !slices.Contains(reader.Conjuncts, term) {
			return false
		}
	}
	return true
}

// checkSelfWait reports the expressions of a template that always read a field of the child's own observed object: the
// child waits for itself, because the field comes with the object. It skips a child whose object may exist without the
// rule having created it.
func (c *compiler) checkSelfWait(spec *syntax.Child) {
	if spec.ID == "" || spec.Many() || spec.Adopt || spec.When != nil || spec.CreateWhen != nil {
		return
	}
	for n := range spec.Template.All() {
		if x := c.parsed(n); x != nil && flow.AlwaysReads(x.Root(), spec.ID) {
			c.ReportNode(n, diagnostic.CodeSelfReference, "%s cannot be created: this waits for a field of observed.%s, which comes with the object", spec.ID, spec.ID).
				WithHint("begin with a ?, as in observed.%s.?…, and give a value for when the object does not exist, with orValue(…) or optMap(…)", spec.ID)
		}
	}
}
