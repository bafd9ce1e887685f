package engine

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kanon.dev/kanon/engine/apply"
	"kanon.dev/kanon/engine/apply/mark"
	"kanon.dev/kanon/engine/ending"
	"kanon.dev/kanon/engine/identity"
	"kanon.dev/kanon/engine/monitor"
	"kanon.dev/kanon/engine/operator"
	"kanon.dev/kanon/engine/outcome"
	"kanon.dev/kanon/engine/parents"
	"kanon.dev/kanon/engine/queue"
	"kanon.dev/kanon/rules"
)

// reconcileDeletion reconciles a parent that is being deleted and has the rule's finalizer: it deletes the children that the garbage
// collector does not, and removes the finalizer once the API server has none of them and the parent's patches were released.
func (e *Engine) reconcileDeletion(ctx context.Context, op *operator.Operator, k queue.Key, parent *unstructured.Unstructured, now time.Time) (out outcome.Outcome) {
	p := e.newPass(ctx, newSubject(op, k, parent, e.parents.Memory(k, parent.GetUID(), op.Program.Hash()), now))
	defer p.finish(&out)
	return p.cleanUp(ctx)
}

func (p *pass) cleanUp(ctx context.Context) outcome.Outcome {
	op, k := p.op, p.key
	if p.finalizes() {
		if done, out := p.finalize(ctx); !done {
			return out
		}
		p.problems, p.outcome = nil, rules.Outcome{}
	}
	p.engine.patches.Drop(op, k)
	if p.engine.patches.IsLeaving(k) && len(p.deleter.tracked()) == 0 {
		return outcome.Outcome{Verdict: outcome.Waiting} // comes back when its patches are released
	}
	gone, err := p.endChildren(ctx)
	if err == nil && gone {
		err = p.finalizer.remove(ctx)
	}
	if err != nil {
		p.add(problemOfFinalizer(err))
	}
	if gone && err == nil {
		p.memory = nil
		p.engine.forget(op, k)
		return outcome.Outcome{}
	}
	if err := ctx.Err(); err != nil {
		return outcome.Outcome{Verdict: outcome.Again, Err: err}
	}
	if len(p.problems) > 0 {
		summary := p.summarize()
		p.add(p.status.keepStatus(ctx, summary)...)
		p.status.emitSummary(ctx, summary)
	}
	return p.result().AtLeast(outcome.Waiting) // the deletion of a child is an event
}

// endChildren ends the children that the garbage collector does not delete, and tells whether they are all gone.
func (p *pass) endChildren(ctx context.Context) (gone bool, err error) {
	children, err := p.deleter.ended(ctx)
	if err != nil {
		return false, err
	}
	if len(children) > 0 && p.deleter.endings().NeedEvaluation() {
		if p.evaluateDeletion(ctx); p.reader.incomplete {
			return false, nil // it is not known yet what is to be kept
		}
	}
	p.add(p.deleter.endAll(ctx, children)...)
	return len(children) == 0, nil
}

// evaluateDeletion evaluates the rule for a parent that is being deleted, to know what it
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

// collectDecisions asks the evaluation which children are kept.
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

// noteOrphaning takes in from an event whether a parent is being deleted with orphaning.
func (e *Engine) noteOrphaning(rule string, event monitor.Event) {
	live := event.New.Head()
	switch {
	case live != nil && live.GetDeletionTimestamp() != nil && apply.Has(live, metav1.FinalizerOrphanDependents):
		e.parents.Update(keyAt(rule, event.New), func(s *parents.State) { s.Orphaned = event.New.UID() })
	case event.New == nil && event.Old != nil:
		e.parents.Update(keyAt(rule, event.Old), func(s *parents.State) { s.Orphaned = "" })
	}
}
