package engine

import (
	"context"
	"slices"

	"kanon.dev/kanon/engine/conditions"
)

// conclude reports what the reconcile found: in the parent's status, as Events, and as the outcome.
func (p *pass) conclude(ctx context.Context) outcome {
	if err := ctx.Err(); err != nil {
		return outcome{verdict: again, err: err} // what was broken off says nothing of the parent
	}
	if p.reader.incomplete {
		return p.result().atLeast(waiting)
	}
	p.add(p.status.yieldStatus(ctx)...)
	p.add(p.status.checkStatusLoop(ctx)...)
	summary := p.summarize()
	if p.outcome.StatusHeld {
		p.add(p.status.keepStatus(ctx, summary)...)
	} else if err := p.status.writeStatus(ctx, p.outcome.Status, summary); err != nil {
		p.add(p.status.problemOf(err))
		summary = p.summarize()
		if conditions.IsInvalid(err) {
			p.add(p.status.keepStatus(ctx, summary)...)
		}
	}
	if !slices.ContainsFunc(p.problems, conditions.Problem.IsTransient) {
		p.status.emitOfRule() // else the next reconcile knows better, and comes soon
	}
	p.status.emitSummary(ctx, summary)
	return p.result()
}

// result is the outcome of the reconcile, by what it found so far.
func (p *pass) result() outcome {
	out := outcomeOf(p.problems)
	if p.deleter.isBlocked() {
		out = out.atLeast(waiting)
	}
	if p.evaluation != nil && p.evaluation.OutOfTime() {
		out = out.atLeast(again) // no event tells when a busy machine is not busy any more
	}
	return out
}

// summarize sums up what the pass has found so far.
func (p *pass) summarize() conditions.Summary {
	return conditions.Summarize(slices.Concat(p.problems, p.pending), p.outcome, conditions.Kept(p.deleter.kept))
}

// add adds to the problems that the reconcile found.
func (p *pass) add(problems ...conditions.Problem) { p.problems = append(p.problems, problems...) }
