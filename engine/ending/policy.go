package ending

import (
	"kanon.dev/kanon/engine/apply/mark"
	"kanon.dev/kanon/engine/identity"
	"kanon.dev/kanon/rules/program"
	"kanon.dev/kanon/rules/syntax"
)

// ByNode is Policies.ByNode of a rule.
func ByNode(of *program.Program) map[string]program.Ending {
	byNode := make(map[string]program.Ending, len(of.Children))
	for _, child := range of.Children {
		byNode[child.ID] = child.Ending
	}
	return byNode
}

// Policies says which children are kept.
type Policies struct {
	// ByNode has the deletionPolicy of each node, as far as that needs no expression.
	ByNode map[string]program.Ending
	// Decided is what the rule says now of the children of a parent that is being deleted.
	Decided map[identity.ID]mark.Retain
	// KeepAll is true if the parent is being deleted with orphaning.
	KeepAll bool
}

// KeepsPruned tells whether a child is kept that the rule no longer renders. One whose mark proves nothing is.
func (p Policies) KeepsPruned(c Child) bool {
	if policy, known := p.ByNode[c.Owner.Node]; c.IsMarked && known && policy.WhenPruned != "" {
		return policy.WhenPruned == syntax.EndOrphan
	}
	return !c.IsMarked || c.Owner.Retain.WhenPruned()
}

// KeepsDeleted tells whether a child is kept whose parent is being deleted. One whose mark proves nothing is.
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

// MayKeep tells whether children of a node may have to be kept when their parent is deleted, so that the garbage collector must
// not delete them.
func (p Policies) MayKeep(node string) bool { return p.ByNode[node].WhenDeleted != syntax.EndDelete }

// NeedEvaluation tells whether an expression decides which children are kept when their parent is deleted.
func (p Policies) NeedEvaluation() bool {
	for _, policy := range p.ByNode {
		if policy.WhenDeleted == "" {
			return true
		}
	}
	return false
}

// RetainOf is a decision as a child's mark records it.
func RetainOf(policy program.Ending) mark.Retain {
	return mark.RetainWhen(policy.WhenPruned == syntax.EndOrphan, policy.WhenDeleted == syntax.EndOrphan)
}
