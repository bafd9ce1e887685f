package reconcile

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kanon.dev/kanon/engine/apply/mark"
	"kanon.dev/kanon/engine/conditions"
	"kanon.dev/kanon/engine/ending"
	"kanon.dev/kanon/engine/identity"
	"kanon.dev/kanon/engine/outcome"
	"kanon.dev/kanon/rules/program"
)

// cleanUp reconciles a parent that is being deleted and has the rule's finalizer. It deletes the children that the
// garbage collector does not delete. It removes the finalizer once the parent waits for none of them and its patches
// are restored.
func (p *pass) cleanUp(ctx context.Context) outcome.Outcome {
	if p.finalizes() {
		if done, out := p.finalize(ctx); !done {
			return out
		}
		p.problems, p.pending, p.result = nil, nil, program.Result{}
	}
	p.r.Patches.Drop(p.op, p.key)
	if p.r.Patches.HasPendingRestores(p.key) && len(p.deleter.awaited(p.deleter.tracked())) == 0 {
		return outcome.Outcome{Verdict: outcome.Waiting} // the key is enqueued when its patches are restored
	}
	done, problems, err := p.endChildren(ctx)
	p.add(problems)
	if err == nil && done {
		err = p.finalizer.remove(ctx)
	}
	p.add(problemsOfFinalizer(err))
	if done && err == nil {
		p.memory = nil
		p.r.forget(p.op, p.key)
		return outcome.Outcome{}
	}
	if err := ctx.Err(); err != nil {
		return outcome.Outcome{Verdict: outcome.Again, Err: err}
	}
	if len(p.problems) > 0 {
		p.add(p.report().ReportDeletion(ctx, p.found()))
	}
	return p.outcome().AtLeast(outcome.Waiting) // the deletion of a child is an event
}

// endChildren ends the children that the garbage collector does not delete, and reports whether the parent waits for
// none of them.
func (p *pass) endChildren(ctx context.Context) (done bool, problems []conditions.Problem, err error) {
	children, awaited, err := p.deleter.ended(ctx)
	if err != nil || len(awaited) == 0 {
		return err == nil, nil, err
	}
	if p.deleter.endings().NeedEvaluation() {
		if p.evaluateDeletion(ctx); p.reader.incomplete {
			return false, nil, nil // it is not known yet what is kept
		}
	}
	return false, p.deleter.endAll(ctx, children), nil
}

// evaluateDeletion evaluates the rule for a parent that is being deleted, to learn which children it now keeps: the
// last write may be older than the parent's last change. It writes nothing. Without memory for the evaluation, nothing
// is decided: half an evaluation would miss some children, and an older decision would apply to them.
func (p *pass) evaluateDeletion(ctx context.Context) {
	err := p.evaluate(ctx, p.op.Program.Finalize != nil)
	if err == nil {
		p.collectDecisions()
	}
	if err != nil || p.isOutOfMemory(ctx) {
		p.deleter.decided, p.reader.incomplete = nil, true
		p.RequeueAfter(memoryPause)
	}
}

// collectDecisions collects from the evaluation which children are kept.
func (p *pass) collectDecisions() {
	if matches, err := p.evaluation.Matches(); err != nil || !matches {
		return
	}
	p.deleter.decided = make(map[identity.ID]mark.Retain)
	for batch := p.evaluation.Next(); len(batch) > 0; batch = p.evaluation.Next() {
		for _, node := range batch {
			live := make([]*unstructured.Unstructured, len(node.Objects))
			for i, object := range node.Objects {
				live[i], _ = p.reader.Live(object) // what is not known counts as absent
			}
			for _, object := range slices.Concat(node.Objects, node.Kept) {
				p.deleter.decided[identity.Of(object)] = ending.RetainOf(p.evaluation.Ending(object))
			}
			p.evaluation.Applied(node.Node, live)
		}
	}
}
