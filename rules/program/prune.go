package program

import "slices"

// IsCurrent reports whether all objects of the node are known and up to date.
func (r NodeResult) IsCurrent() bool {
	return !r.BlocksPrune && (r.State == StateApplied || r.State == StateSkipped)
}

// MayPrune reports whether an object that a node no longer renders may be deleted, by the results of all nodes. exists
// reports whether the parent has objects of a node in the cluster.
//
// If all nodes are current, every such object may be deleted. Otherwise only an item of a forEach may, because its list
// says for sure that it is gone, and only if nothing can still need it: its node is current, and each node that is not
// has another kind, so that it does not render a successor, and has no objects, which may refer to this one.
func (p *Program) MayPrune(node string, results []NodeResult, exists func(node string) bool) bool {
	at, known := p.ByID[node]
	return !slices.ContainsFunc(results, func(r NodeResult) bool {
		if r.IsCurrent() {
			return false
		}
		other, ok := p.ByID[r.ID]
		return !known || !ok || r.ID == node || !p.Children[at].IsList ||
			p.Children[at].GVK.GroupKind() == p.Children[other].GVK.GroupKind() || exists(r.ID)
	})
}
