package dependency

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/flow"
	"kanon.dev/kanon/rules/syntax"
)

// Reader is a part of the rule that reads nodes and is no node itself: a condition, an event, a readyWhen.
type Reader struct {
	// Label names it in findings.
	Label string
	// ID is the child that it belongs to.
	ID string
	// Bare is true if it cannot have a when of its own.
	Bare bool
	flow.Uses
	Guard flow.Guard
}

// CheckSkips reports reads of nodes that may be skipped, or null, by readers that do not test for them. rest is what
// those parts of the rule read that may read what is skipped.
func (g *Graph) CheckSkips(rest *flow.Uses) {
	byID, readers := map[string]*Node{}, slices.Clip(g.Readers)
	for _, n := range g.Nodes {
		byID[n.Spec.ID] = n
		readers = append(readers, &Reader{Label: n.Spec.Label(), ID: n.Spec.ID, Uses: n.Uses, Guard: n.Guard})
	}
	for _, by := range readers {
		for _, r := range by.Nodes {
			switch {
			case !r.Hard:
			case r.Past:
				g.checkPast(by.Label, r, &by.Guard)
			case r.Root == flow.RootLookups:
				g.checkSkippedLookup(by, r)
			case by.ID == "" || r.ID != by.ID:
				g.checkSkippedChild(by, r, byID[r.ID])
			}
		}
	}
	for _, r := range rest.Nodes {
		if r.Past {
			g.checkPast("this", r, &flow.Guard{})
		}
	}
}

func (g *Graph) checkSkippedChild(by *Reader, r flow.Ref, target *Node) {
	if target == nil || r.Root == flow.RootObserved {
		return
	}
	if r.Root == flow.RootChildren && (target.Spec.Many() || target.Spec.Gaps["forEach"]) {
		return // a list, which lacks what is skipped
	}
	var f *diagnostic.Finding
	switch {
	case target.Creation.Given && !flow.Ensured(r, &by.Guard, &target.Creation):
		f = g.Report(r.Pos, diagnostic.CodeUncreatedChild, "%s reads %s, which does not exist if its createWhen is false before it is created", by.Label, r.Name())
		g.Relate(f, target.Spec.CreateWhen, "the createWhen is here")
	case target.Guard.Given && !flow.Ensured(r, &by.Guard, &target.Guard):
		absent := "while its when is false"
		if g.differOnlyInKind(&by.Guard, target) {
			absent = "while the cluster does not have its kind, because it is optional"
		}
		if target.Spec.Cleanup && target.Spec.When == nil {
			absent = "while the parent is not being deleted"
		}
		f = g.Report(r.Pos, diagnostic.CodeSkippedChild, "%s reads %s, which does not exist %s", by.Label, r.Name(), absent)
		g.Relate(f, target.Spec.When, "the when is here")
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

func (g *Graph) checkSkippedLookup(by *Reader, r flow.Ref) {
	l := g.Lookup(r.ID)
	if l == nil || !l.Guard.Given || l.Optional || len(l.ForEach) > 0 || l.Gaps["forEach"] || l.Gaps["optional"] {
		return
	}
	if !flow.Ensured(r, &by.Guard, l.Guard) {
		f := g.Report(r.Pos, diagnostic.CodeSkippedLookup, "%s reads %s, which has no value while its when is false", by.Label, r.Name())
		g.Relate(f, l.When, "the when is here")
		if by.Bare {
			f.WithHint("write lookups.?%s with a default, or make the lookup optional", r.ID)
			return
		}
		f.WithHint("write lookups.?%s, give %s the same when, or make the lookup optional", r.ID, by.Label)
	}
}

// lookupAt is the position of a lookup.
func (g *Graph) lookupAt(id string) diagnostic.Position {
	if l := g.Lookup(id); l != nil {
		return l.Pos
	}
	return diagnostic.Position{}
}

// checkPast reports a read of a field of an optional lookup.
func (g *Graph) checkPast(reader string, r flow.Ref, by *flow.Guard) {
	if !by.Asked[r.Name()] && !by.Lost && !slices.ContainsFunc(r.Guards, func(guard *flow.Guard) bool { return guard.Asked[r.Name()] || guard.Lost }) {
		g.Report(r.Pos, diagnostic.CodeUnguardedLookup, "%s reads something in %s, which is optional, and waits while that does not exist", reader, r.Name()).
			WithRelated(g.lookupAt(r.ID), "the lookup is here").WithHint("read it as lookups.?%s with a default, or test it with has(lookups.%s)", r.ID, r.ID)
	}
}

// Optional is the condition under which an optional child exists, or an optional patch applies: the cluster has its
// kind. Kinds of one group are installed together, so another optional child or patch of the same group may read it.
func Optional(gvk schema.GroupVersionKind) flow.Guard {
	return flow.Guard{Given: true, Conjuncts: []string{optionalTerm(gvk.Group)}, Asked: map[string]bool{}}
}

// Finalizing is the condition under which everything in spec.finalize exists.
func Finalizing() flow.Guard {
	return flow.Guard{Given: true, Conjuncts: []string{flow.RootFinalizing}, Asked: map[string]bool{}}
}

// optionalTerm is a term that no expression can have.
func optionalTerm(group string) string { return "\x00the cluster has kinds of " + group }

// differOnlyInKind reports whether a reader has the conditions of the child that it reads, except for that of its kind.
func (g *Graph) differOnlyInKind(reader *flow.Guard, target *Node) bool {
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
