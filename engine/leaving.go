package engine

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kanon.dev/kanon/engine/queue"
	"kanon.dev/kanon/rules"
)

// leave sees a parent off that is being deleted and that the rule holds: the
// children that only the rule can end are ended, and when the API server has none
// of them any more, and its patches were released, the parent is let go.
func (e *Engine) reconcileDeletion(ctx context.Context, op *operator, k queue.Key, parent *unstructured.Unstructured, now time.Time) (out outcome) {
	p := e.newPass(ctx, newSubject(op, k, parent, e.parents.Memory(k, parent.GetUID(), op.Program.Hash()), now))
	defer p.finish(&out)
	return p.cleanUp(ctx)
}

func (p *pass) cleanUp(ctx context.Context) outcome {
	op, k := p.op, p.key
	if p.finalizes() {
		if done, out := p.finalize(ctx); !done {
			return out
		}
		p.problems, p.outcome = nil, rules.Outcome{}
	}
	p.engine.dropContributions(op, k)
	if p.engine.contributions.IsLeaving(k) && len(p.deleter.tracked()) == 0 {
		return outcome{verdict: waiting} // comes back when its patches are released
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
		return outcome{}
	}
	if err := ctx.Err(); err != nil {
		return outcome{verdict: again, err: err}
	}
	if len(p.problems) > 0 {
		summary := p.summarize()
		p.add(p.status.keepStatus(ctx, summary)...)
		p.status.emitSummary(ctx, summary)
	}
	return p.result().atLeast(waiting) // the end of a child is an event
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
