package engine

import (
	"context"
	"errors"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kanon.dev/kanon/engine/apply"
	"kanon.dev/kanon/engine/apply/mark"
	"kanon.dev/kanon/engine/conditions"
	"kanon.dev/kanon/engine/ending"
	"kanon.dev/kanon/engine/queue"
	"kanon.dev/kanon/rules"
)

// leave sees a parent off that is being deleted and that the rule holds: the
// children that only the rule can end are ended, and when the API server has none
// of them any more, and its patches were released, the parent is let go.
func (e *Engine) leave(ctx context.Context, op *operator, k queue.Key, parent *unstructured.Unstructured, now time.Time) (out outcome) {
	p := e.newPass(ctx, newSubject(op, k, parent, e.parents.Memory(k, parent.GetUID(), op.program.Hash()), now))
	defer p.finish(&out)
	return p.endParent(ctx)
}

func (p *pass) endParent(ctx context.Context) outcome {
	op, k := p.op, p.key
	if p.finalizes() {
		if done, out := p.finalize(ctx); !done {
			return out
		}
		p.problems, p.outcome = nil, rules.Outcome{}
	}
	p.engine.dropContributions(op, k)
	if p.engine.contributions.IsLeaving(k) && len(p.tracked()) == 0 {
		return outcome{verdict: waiting} // comes back when its patches are released
	}
	gone, err := p.endChildren(ctx)
	if err == nil && gone {
		err = p.finalizer.remove(ctx)
	}
	if err != nil {
		p.problems = append(p.problems, problemOfFinalizer(err))
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
		p.keepStatus(ctx, summary)
		p.emitSummary(ctx, summary)
	}
	return p.result().atLeast(waiting) // the end of a child is an event
}

// endChildren ends the children that only the rule can end, and tells whether they
// are all gone, which only the API server knows for certain.
func (p *pass) endChildren(ctx context.Context) (gone bool, err error) {
	children := p.tracked()
	if len(children) == 0 {
		if children, err = p.listTracked(ctx); err != nil {
			return false, err
		}
	}
	if len(children) > 0 && p.endings().NeedEvaluation() {
		if p.decideLate(ctx); p.reader.incomplete {
			return false, nil // it is not known yet what is to be kept
		}
	}
	isLost := ending.Child.LostReference
	lost := slices.DeleteFunc(slices.Clone(children), func(child ending.Child) bool { return !isLost(child) })
	p.orphaning = p.isOrphaning(lost)
	next := children
	if p.op.program.Finalizes() {
		next = ending.Dependents(children, p.op.program.Rank)
	}
	for _, child := range slices.DeleteFunc(slices.Clone(next), isLost) {
		p.endChild(ctx, child)
	}
	// Those that lost their reference come last: as long as there are others, they go on showing that the deletion is an
	// orphaning one.
	for _, child := range lost {
		if len(p.problems) == 0 {
			p.endChild(ctx, child)
		}
	}
	if len(lost) > 0 && len(p.problems) == 0 {
		p.requeueAfter(orphanPause) // the event of a child that lost its reference names no parent
	}
	return len(children) == 0, nil
}

// orphanPause is how long a parent waits to be reconciled again after the last child was orphaned that lost its reference.
const orphanPause = 100 * time.Millisecond

// endChild deletes or orphans a child of a parent that is being deleted, or reports which finalizers block one that is being
// deleted already.
func (p *pass) endChild(ctx context.Context, child ending.Child) {
	ref := mark.RefOf(child.Object)
	if child.IsDeleting() {
		if len(child.Object.GetFinalizers()) > 0 {
			p.problems = append(p.problems, conditions.Problem{Subject: ref.String(), Reason: conditions.ReasonDeleting, Err: errors.New(apply.Terminating(child.Object))})
		}
		return
	}
	if err := p.end(ctx, child, p.endings().KeepsDeleted(child)); err != nil {
		p.problems = append(p.problems, p.redacted(conditions.Problem{Subject: ref.String(), Reason: conditions.ReasonDelete, Err: err}))
	}
}
