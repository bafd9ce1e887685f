package engine

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kanon.dev/kanon/engine/apply"
	"kanon.dev/kanon/engine/conditions"
	"kanon.dev/kanon/engine/identity"
	"kanon.dev/kanon/restmapping"
	"kanon.dev/kanon/rules"
)

// What becomes of a child that is not wanted any more is said by its deletionPolicy.
// Where that needs no expression, the rule that runs now has the word. Else it is what
// was decided when the child was written last, which its owner annotation keeps: the
// node that rendered it may not do so any more.

// retainOf is a decision as a child records it.
func retainOf(d rules.Ending) apply.Retain {
	return apply.RetainWhen(d.WhenPruned == rules.EndOrphan, d.WhenDeleted == rules.EndOrphan)
}

// mayOrphan tells whether children of a node may have to stay when their parent goes,
// so that the garbage collector must not take them.
func (op *operator) mayOrphan(node string) bool {
	return op.deletions[node].WhenDeleted != rules.EndDelete
}

// decidesLate tells whether an expression says what becomes of children when their
// parent goes.
func (op *operator) decidesLate() bool {
	for _, deletion := range op.deletions {
		if deletion.WhenDeleted == "" {
			return true
		}
	}
	return false
}

// staysWhenPruned tells whether a child that is rendered no more is let go.
func (p *pass) staysWhenPruned(child *unstructured.Unstructured) bool {
	owner, proven := p.marks.OwnerOf(child)
	if deletion, known := p.op.deletions[owner.Node]; proven && known && deletion.WhenPruned != "" {
		return deletion.WhenPruned == rules.EndOrphan
	}
	return !proven || owner.Retain.WhenPruned()
}

// staysWhenDeleted tells whether a child is let go now that its parent is being
// deleted.
func (p *pass) staysWhenDeleted(child *unstructured.Unstructured) bool {
	if p.orphaning {
		return true
	}
	if decided, ok := p.decided[identity.Of(child)]; ok {
		return decided.WhenDeleted()
	}
	owner, proven := p.marks.OwnerOf(child)
	if deletion, known := p.op.deletions[owner.Node]; proven && known && deletion.WhenDeleted != "" {
		return deletion.WhenDeleted == rules.EndOrphan
	}
	return !proven || owner.Retain.WhenDeleted()
}

// part ends what ties a child to the parent: it is deleted, or stays and is let go.
func (p *pass) part(ctx context.Context, child staleChild, stays bool) error {
	defer p.begin(child.object)()
	if !stays {
		err := p.writer.Delete(ctx, child.gvr, child.object)
		if err == nil {
			p.deleted(child.object)
		}
		return err
	}
	free, err := p.writer.Orphan(ctx, child.gvr, child.object, p.op.owner(p.parent, ""))
	if err != nil || free == nil {
		return err
	}
	p.observe(p.op.childKey(child.gvr), free)
	p.options.Recorder.Eventf(p.parent, corev1.EventTypeNormal, conditions.ReasonOrphaned,
		"%s stays, and belongs to this object no longer, by the deletionPolicy of rule %s", apply.RefOf(free), p.op.name)
	return nil
}

// takeBack makes an object a child again that was let go by this rule for this parent.
func (p *pass) takeBack(ctx context.Context, kind restmapping.Kind, child *apply.Child, taken *apply.NameTakenError, guarded bool) (apply.Result, error) {
	if err := p.checkParent(ctx); err != nil {
		return apply.Result{}, err
	}
	result, err := p.writer.Return(ctx, kind.GVR, child, taken.Free, guarded)
	if err == nil {
		p.options.Recorder.Eventf(p.parent, corev1.EventTypeNormal, conditions.ReasonAdopted,
			"%s belongs to this object again, by rule %s", taken.Ref, p.op.name)
	}
	return result, err
}

// decideLate evaluates the rule for a parent that is being deleted, to know what it
// says now of children that stay or go: the last write may be older than the parent's
// last change. Nothing is written. Where there is no memory for it, nothing is decided:
// half of it would say nothing of some children, for which an older decision would count.
func (p *pass) decideLate(ctx context.Context) {
	err := p.evaluate(ctx, p.op.program.Finalizes())
	if err == nil {
		p.decideAll()
	}
	if err != nil || p.starved(ctx) {
		p.decided, p.filling = nil, true
		p.requeueAfter(starvedPause)
	}
}

// decideAll asks the evaluation what becomes of each child.
func (p *pass) decideAll() {
	if matches, err := p.evaluation.Matches(); err != nil || !matches {
		return
	}
	p.decided = make(map[identity.ID]apply.Retain)
	for batch := p.evaluation.Next(); len(batch) > 0; batch = p.evaluation.Next() {
		for _, node := range batch {
			live := make([]*unstructured.Unstructured, len(node.Objects))
			for i, object := range node.Objects {
				live[i], _ = p.Live(object) // what is not known is not there
				p.decided[identity.Of(object)] = retainOf(p.evaluation.Ending(object))
			}
			for _, object := range node.Kept {
				p.decided[identity.Of(object)] = retainOf(p.evaluation.Ending(object))
			}
			p.evaluation.Applied(node.Node, live)
		}
	}
}
