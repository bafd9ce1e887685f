package operator

import (
	"kanon.dev/kanon/engine/apply/mark"
	"kanon.dev/kanon/engine/identity"
	"kanon.dev/kanon/rules/program"
	"kanon.dev/kanon/rules/syntax"
)

// ByNode returns Policies.ByNode for a rule.
func ByNode(of *program.Program) map[string]program.Ending {
	byNode := make(map[string]program.Ending, len(of.Children))
	for _, child := range of.Children {
		byNode[child.ID] = child.Ending
	}
	return byNode
}

// Policies decide which children are kept.
type Policies struct {
	// ByNode has the deletionPolicy of each node, except for what an expression decides.
	ByNode map[string]program.Ending
	// Decided is what the rule now decides about the children of a parent that is being deleted.
	Decided map[identity.ID]mark.Retain
	// KeepAll is true if the parent is being deleted with orphaning.
	KeepAll bool
}

// KeepsPruned reports whether a child that the rule no longer renders is kept. A child whose mark proves nothing is
// kept.
func (p Policies) KeepsPruned(c Child) bool {
	if policy, known := p.ByNode[c.Owner.Node]; c.IsMarked && known && policy.WhenPruned != "" {
		return policy.WhenPruned == syntax.EndOrphan
	}
	return !c.IsMarked || c.Owner.Retain.WhenPruned()
}

// KeepsDeleted reports whether a child whose parent is being deleted is kept. A child whose mark proves nothing is
// kept.
func (p Policies) KeepsDeleted(c Child) bool {
	if p.KeepAll {
		return true
	}
	if decided, ok := p.Decided[identity.Of(c.Object)]; ok {
		return decided.WhenDeleted()
	}
	if policy, known := p.ByNode[c.Owner.Node]; c.IsMarked && known && policy.WhenDeleted != "" {
		return policy.WhenDeleted == syntax.EndOrphan
	}
	return !c.IsMarked || c.Owner.Retain.WhenDeleted()
}

// MayKeep reports whether children of a node may be kept when their parent is deleted, so that they must not have an
// owner reference.
func (p Policies) MayKeep(node string) bool { return p.ByNode[node].WhenDeleted != syntax.EndDelete }

// NeedEvaluation reports whether an expression decides which children are kept when their parent is deleted.
func (p Policies) NeedEvaluation() bool {
	for _, policy := range p.ByNode {
		if policy.WhenDeleted == "" {
			return true
		}
	}
	return false
}

// RetainOf converts a decision to the form in which a child's mark records it.
func RetainOf(policy program.Ending) mark.Retain {
	return mark.RetainWhen(policy.WhenPruned == syntax.EndOrphan, policy.WhenDeleted == syntax.EndOrphan)
}
