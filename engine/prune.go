package engine

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"kanon.dev/kanon/engine/apply/mark"
	"kanon.dev/kanon/engine/conditions"
	"kanon.dev/kanon/engine/ending"
	"kanon.dev/kanon/engine/identity"
	"kanon.dev/kanon/engine/queue"
	"kanon.dev/kanon/rules"
)

// prune deletes the children that the rule made for the parent and did not
// render in this pass. It follows all writes, and deletes nothing while any
// child could not be brought up to date or any name is not known: what looks
// superfluous then may be what keeps things running.
func (p *pass) prune(ctx context.Context) {
	if p.suspended() || p.op.removal.keepsChildren() {
		return
	}
	unrendered := p.unrendered()
	if len(p.problems) > 0 || p.holdsPrune() {
		p.noteKept(unrendered)
		return
	}
	if !p.mayPrune(unrendered) {
		return
	}
	for _, child := range ending.InOrder(unrendered, p.op.ordered, p.isDeleting) {
		ref := mark.RefOf(child.Object)
		if err := p.end(ctx, child, p.endings().KeepsPruned(child)); err != nil {
			p.problems = append(p.problems, p.redacted(conditions.Problem{Subject: ref.String(), Reason: conditions.ReasonDelete, Err: err}))
		}
	}
}

// holdsPrune tells whether a node's outcome forbids pruning.
func (p *pass) holdsPrune() bool {
	if p.reader.unseen {
		return true
	}
	for _, node := range p.outcome.Nodes {
		if node.HoldPrune || (node.State != rules.StateApplied && node.State != rules.StateSkipped) {
			return true
		}
	}
	return false
}

// noteKept notes the children that are not pruned now, for the parent's conditions. Of a node
// that waits or fails it is not known what it renders, and its own message says so.
func (p *pass) noteKept(unrendered []ending.Child) {
	if !slices.ContainsFunc(p.problems, func(of conditions.Problem) bool { return !of.IsTransient() }) {
		return
	}
	unclear := make(map[string]bool)
	for _, node := range p.outcome.Nodes {
		unclear[node.ID] = node.State == rules.StateWaiting || node.State == rules.StateFailed
	}
	policies := p.endings()
	for _, child := range unrendered {
		if child.IsMarked && !unclear[child.Owner.Node] && !policies.KeepsPruned(child) {
			p.kept = append(p.kept, mark.RefOf(child.Object).String())
		}
	}
}

// endings says which children are kept.
func (p *pass) endings() ending.Policies {
	return ending.Policies{ByNode: p.op.deletions, Decided: p.decided, KeepAll: p.orphaning}
}

// unrendered lists the parent's children that this reconcile did not render and that are not being deleted.
func (p *pass) unrendered() []ending.Child {
	var found []ending.Child
	seen := make(map[types.UID]bool)
	for kind := range p.op.childKinds() {
		for _, child := range p.unreadChildren(p.op, kind.GVR, p.key) {
			if p.rendered[identity.At(child)] {
				continue
			}
			object := child.Head()
			// The index speaks of the parent's name; only proof of ownership
			// by this very parent allows a deletion.
			if seen[object.GetUID()] || object.GetDeletionTimestamp() != nil ||
				!p.marks.Owns(object, p.op.id, p.parent.GetUID()) {
				continue
			}
			seen[object.GetUID()] = true
			found = append(found, p.childOf(kind.GVR, object))
		}
	}
	return found
}

// mayPrune tells whether these children may be deleted. A revision of the rule that is
// new may have to wait with that; see guard.
func (p *pass) mayPrune(unrendered []ending.Child) bool {
	if p.op.removal != nil {
		return true
	}
	p.judged = true
	switch p.outcome.Deletion {
	case rules.DeletionUnknown:
		return p.engine.doubt(p.op, p.key, p.atRisk(unrendered))
	case rules.DeletionOn:
		return p.engine.decide(p.op, p.key, p.atRisk(unrendered))
	default:
		return p.engine.decide(p.op, p.key, p.toDelete(unrendered))
	}
}

// atRisk lists what a parent may lose at the most: these children, and itself where
// the rule can delete it.
func (p *pass) atRisk(unrendered []ending.Child) []identity.ID {
	refs := p.toDelete(unrendered)
	if p.op.program.DeletesParents() {
		refs = append(refs, identity.Of(p.parent))
	}
	return refs
}

// toDelete lists those of the children that would be deleted, and not let go, and those
// that would be to be made anew.
func (p *pass) toDelete(unrendered []ending.Child) []identity.ID {
	refs := slices.Clone(p.children.blocked)
	policies := p.endings()
	for _, child := range unrendered {
		if !policies.KeepsPruned(child) {
			refs = append(refs, identity.Of(child.Object))
		}
	}
	return refs
}

// riskOf is atRisk of a parent that is not evaluated.
func (e *Engine) riskOf(op *operator, k queue.Key, parent *unstructured.Unstructured) []identity.ID {
	refs := e.cluster.childrenOf(op, k)
	if op.program.DeletesParents() {
		refs = append(refs, identity.Of(parent))
	}
	return refs
}
