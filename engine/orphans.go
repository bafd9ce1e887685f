package engine

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kanon.dev/kanon/engine/apply/mark"
	"kanon.dev/kanon/engine/ending"
	"kanon.dev/kanon/engine/identity"
)

// decideLate evaluates the rule for a parent that is being deleted, to know what it
// says now of children that stay or go: the last write may be older than the parent's
// last change. Nothing is written. Where there is no memory for it, nothing is decided:
// half of it would say nothing of some children, for which an older decision would count.
func (p *pass) evaluateDeletion(ctx context.Context) {
	err := p.evaluate(ctx, p.op.Program.Finalizes())
	if err == nil {
		p.collectDecisions()
	}
	if err != nil || p.isOutOfMemory(ctx) {
		p.deleter.decided, p.reader.incomplete = nil, true
		p.requeueAfter(memoryPause)
	}
}

// decideAll asks the evaluation what becomes of each child.
func (p *pass) collectDecisions() {
	if matches, err := p.evaluation.Matches(); err != nil || !matches {
		return
	}
	p.deleter.decided = make(map[identity.ID]mark.Retain)
	for batch := p.evaluation.Next(); len(batch) > 0; batch = p.evaluation.Next() {
		for _, node := range batch {
			live := make([]*unstructured.Unstructured, len(node.Objects))
			for i, object := range node.Objects {
				live[i], _ = p.reader.Live(object) // what is not known is not there
				p.deleter.decided[identity.Of(object)] = ending.RetainOf(p.evaluation.Ending(object))
			}
			for _, object := range node.Kept {
				p.deleter.decided[identity.Of(object)] = ending.RetainOf(p.evaluation.Ending(object))
			}
			p.evaluation.Applied(node.Node, live)
		}
	}
}
