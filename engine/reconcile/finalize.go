package reconcile

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"kanon.dev/kanon/engine/conditions"
	"kanon.dev/kanon/engine/operator"
	"kanon.dev/kanon/engine/queue"
)

// A rule with spec.finalize keeps a parent that is being deleted, and everything that it created for it, until its
// cleanup is done. An annotation on the parent records the end of the cleanup, because the children that showed it are
// deleted next, in reverse order of their dependencies.

// finalizes reports whether the rule still has to finalize the parent.
func (p *pass) finalizes() bool {
	return p.op.Program.Finalize != nil && !conditions.IsFinalized(p.parent, p.op.ID)
}

// finalize reconciles a parent that is being deleted by spec.finalize, and reports whether the cleanup is done, so that
// the children can be deleted. If it is not, finalize has reported what it waits for.
func (p *pass) finalize(ctx context.Context) (done bool, out queue.Outcome) {
	p.finalizing = true
	switch p.op.Selects(p.parent, operator.NamespaceLabels(p.r.Monitors)) {
	case operator.Undecided:
		return false, queue.Await(queue.NamespaceChanges)
	case operator.Unselected:
		return true, queue.Outcome{}
	case operator.Selected:
	}
	if err := p.evaluate(ctx, true); err != nil {
		return false, queue.Outcome{Verdict: queue.Again, Err: err}
	}
	defer p.planNext()
	matches, err := p.evaluation.Matches()
	if p.isOutOfMemory(ctx) {
		return false, queue.Outcome{Verdict: queue.Again}
	}
	if err != nil {
		return false, p.concludeUnrendered(ctx, []conditions.Problem{conditions.OfPredicate(err)})
	}
	if !matches {
		return true, queue.Outcome{}
	}
	if out, ok := p.render(ctx); !ok {
		return false, out
	}
	p.add(p.prune(ctx, p.problems))
	if p.result.Finalization.Done && !p.reader.incomplete && !p.reader.unseen {
		return p.concludeFinalization(ctx)
	}
	problems, awaited := p.contribute(ctx)
	if p.add(problems); awaited {
		return false, queue.Await(queue.TargetIsWritten)
	}
	p.add(p.waits())
	return false, p.conclude(ctx)
}

// concludeFinalization reports the parent's final status, because nothing is evaluated after the cleanup, and records
// on the parent that its children can be deleted. A status that the API server refuses does not keep the parent.
func (p *pass) concludeFinalization(ctx context.Context) (done bool, out queue.Outcome) {
	p.pending = append(p.pending, conditions.Problem{
		Subject: conditions.SubjectFinalize, Reason: conditions.ReasonFinalizing, Err: errors.New("done; the children are deleted next"),
	})
	before := p.problems
	p.conclude(ctx)
	if err := ctx.Err(); err != nil {
		return false, queue.Outcome{Verdict: queue.Again, Err: err}
	}
	if slices.ContainsFunc(p.problems, conditions.Problem.IsTransient) {
		return false, p.outcome() // the next reconcile emits the Events
	}
	p.problems = before
	if err := p.noteFinalized(ctx); err != nil {
		p.add(problemsOfFinalizer(err))
		return false, p.conclude(ctx)
	}
	return true, queue.Outcome{}
}

// noteFinalized records on the parent that its children can be deleted.
func (p *pass) noteFinalized(ctx context.Context) error {
	defer p.beginWrite(p.parent)()
	noted, err := p.r.Writer.Annotate(ctx, p.finalizerOf(), conditions.AnnotationFinalized+p.op.ID, "true")
	if err != nil {
		return err
	}
	p.observe(p.op.ParentKey, noted)
	p.parent = noted
	return nil
}

// waits reports what the cleanup waits for, and whether its timeout has passed.
func (p *pass) waits() []conditions.Problem {
	f := p.result.Finalization
	if f.Waits == "" {
		return nil
	}
	waits := conditions.Problem{Subject: conditions.SubjectFinalize, Reason: conditions.ReasonFinalizing, Err: errors.New(f.Waits), Stalled: f.Failed}
	if p.namespaceEnds {
		waits.Stalled = true
		waits.Err = fmt.Errorf("%w; namespace %s is being deleted, and nothing can be created in it: to end the cleanup of this %s, annotate it %s",
			waits.Err, p.parent.GetNamespace(), p.parent.GetKind(), p.skipFinalize())
	}
	if f.Timeout > 0 {
		left := p.parent.GetDeletionTimestamp().Add(f.Timeout).Sub(p.r.Now())
		if left > 0 {
			p.requeueAfter(left)
		} else {
			waits.Reason, waits.Stalled = conditions.ReasonFinalizeTimeout, true
			waits.Err = fmt.Errorf("%s, for longer than %s; the parent stays until that changes, or until somebody ends the cleanup by annotating it %s",
				f.Waits, f.Timeout, p.skipFinalize())
		}
	}
	return []conditions.Problem{waits}
}

// skipFinalize is the annotation by which somebody can end the cleanup of the parent.
func (p *pass) skipFinalize() string { return conditions.AnnotationFinalized + p.op.ID + `: "true"` }
