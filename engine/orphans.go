package engine

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kanon.dev/kanon/engine/apply/mark"
	"kanon.dev/kanon/engine/conditions"
	"kanon.dev/kanon/engine/ending"
	"kanon.dev/kanon/engine/identity"
)

// end deletes a child, or orphans it if it is kept.
func (p *pass) end(ctx context.Context, child ending.Child, isKept bool) error {
	defer p.begin(child.Object)()
	if !isKept {
		err := p.writer.Delete(ctx, child.GVR, child.Object)
		if err == nil {
			p.deleted(child.Object)
		}
		return err
	}
	free, err := p.writer.Orphan(ctx, child.GVR, child.Object, p.op.owner(p.parent, ""))
	if err != nil || free == nil {
		return err
	}
	p.observe(p.op.childKey(child.GVR), free)
	p.recorder.Eventf(p.parent, corev1.EventTypeNormal, conditions.ReasonOrphaned,
		"%s stays, and belongs to this object no longer, by the deletionPolicy of rule %s", mark.RefOf(free), p.op.name)
	return nil
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
		p.decided, p.reader.incomplete = nil, true
		p.requeueAfter(starvedPause)
	}
}

// decideAll asks the evaluation what becomes of each child.
func (p *pass) decideAll() {
	if matches, err := p.evaluation.Matches(); err != nil || !matches {
		return
	}
	p.decided = make(map[identity.ID]mark.Retain)
	for batch := p.evaluation.Next(); len(batch) > 0; batch = p.evaluation.Next() {
		for _, node := range batch {
			live := make([]*unstructured.Unstructured, len(node.Objects))
			for i, object := range node.Objects {
				live[i], _ = p.reader.Live(object) // what is not known is not there
				p.decided[identity.Of(object)] = ending.RetainOf(p.evaluation.Ending(object))
			}
			for _, object := range node.Kept {
				p.decided[identity.Of(object)] = ending.RetainOf(p.evaluation.Ending(object))
			}
			p.evaluation.Applied(node.Node, live)
		}
	}
}
