package reconcile

import (
	"context"
	"errors"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kanon.dev/kanon/engine/apply/mark"
	"kanon.dev/kanon/engine/conditions"
	"kanon.dev/kanon/engine/identity"
	"kanon.dev/kanon/engine/operator"
	"kanon.dev/kanon/engine/queue"
	"kanon.dev/kanon/rules/program"
)

// deletionResync is how often a parent that is being deleted is reconciled without an event: a finalizer that nobody
// removes blocks its name and its namespace.
const deletionResync = time.Minute

// cleanUp reconciles a parent that is being deleted and has the rule's finalizer. It deletes the children that the
// garbage collector does not delete. It removes the finalizer once the parent waits for none of them and its patches
// are restored.
func (p *pass) cleanUp(ctx context.Context) queue.Outcome {
	if !p.r.Unpaused {
		p.requeueAfter(deletionResync)
	}
	if p.finalizes() {
		if done, out := p.finalize(ctx); !done {
			return out
		}
		p.problems, p.pending, p.result = nil, nil, program.Result{}
	}
	p.r.Patches.Drop(p.op, p.key)
	if p.r.Patches.HasPendingRestores(p.key) && len(p.awaited(p.tracked())) == 0 {
		return queue.Await(queue.TargetIsWritten)
	}
	done, problems, err := p.endChildren(ctx)
	p.add(problems)
	if err == nil && done {
		err = p.removeFinalizer(ctx)
	}
	p.add(problemsOfFinalizer(err))
	if done && err == nil {
		p.memory, p.next = nil, queue.Outcome{}
		p.noteCleanedUp()
		p.r.forget(p.op, p.key)
		return queue.Outcome{}
	}
	if err := ctx.Err(); err != nil {
		return queue.Outcome{Verdict: queue.Again, Err: err}
	}
	if len(p.problems) > 0 {
		p.add(p.report().reportDeletion(ctx, p.problems))
	}
	return p.outcome().AndAwait(queue.ChildEnds)
}

// endChildren ends the children that the garbage collector does not delete, and reports whether the parent waits for
// none of them.
func (p *pass) endChildren(ctx context.Context) (done bool, problems []conditions.Problem, err error) {
	children, awaited, err := p.ended(ctx)
	if err != nil || len(awaited) == 0 {
		return err == nil, nil, err
	}
	if p.endings().NeedEvaluation() {
		if p.evaluateDeletion(ctx); p.reader.incomplete {
			return false, p.undecided(), nil // it is not known yet what is kept
		}
	}
	return false, p.endAll(ctx, children), nil
}

// evaluateDeletion evaluates the rule for a parent that is being deleted, to learn which children it now keeps: the
// last write may be older than the parent's last change. It writes nothing. If there is no memory or no time for the
// evaluation, nothing is decided: half an evaluation would miss some children, and an older decision would apply to
// them.
func (p *pass) evaluateDeletion(ctx context.Context) {
	err := p.evaluate(ctx, p.op.Program.Finalize != nil)
	if err == nil {
		p.collectDecisions()
	}
	if err != nil || p.isOutOfMemory(ctx) || p.evaluation.OutOfTime() {
		p.decided, p.reader.incomplete = nil, true
		p.requeueAfter(memoryPause)
	}
}

// undecided reports that the expressions of the rule take too long to say what becomes of the children. A lack of memory
// is no problem of the parent.
func (p *pass) undecided() []conditions.Problem {
	if p.evaluation == nil || !p.evaluation.OutOfTime() {
		return nil
	}
	err := errors.New("nothing is deleted until it is known which children stay: the evaluation took longer than --max-evaluation-time allows")
	return []conditions.Problem{{Subject: "deletionPolicy", Reason: conditions.ReasonEvaluation, Err: err}}
}

// collectDecisions collects from the evaluation which children are kept.
func (p *pass) collectDecisions() {
	if matches, err := p.evaluation.Matches(); err != nil || !matches {
		return
	}
	p.decided = make(map[identity.ID]mark.Retain)
	for batch := p.evaluation.Next(); len(batch) > 0; batch = p.evaluation.Next() {
		for _, node := range batch {
			live := make([]*unstructured.Unstructured, len(node.Objects))
			for i, object := range node.Objects {
				live[i], _ = p.reader.Live(object) // what is not known counts as absent
			}
			for _, object := range slices.Concat(node.Objects, node.Kept) {
				p.decided[identity.Of(object)] = operator.RetainOf(p.evaluation.Ending(object))
			}
			p.evaluation.Applied(node.Node, live)
		}
	}
}
