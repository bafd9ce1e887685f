package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"kanon.dev/kanon/engine/conditions"
	"kanon.dev/kanon/engine/outcome"
)

// conclude reports what the reconcile found: in the parent's status, as Events, and as the outcome.
func (p *pass) conclude(ctx context.Context) outcome.Outcome {
	if err := ctx.Err(); err != nil {
		return outcome.Outcome{Verdict: outcome.Again, Err: err} // what was broken off says nothing of the parent
	}
	if p.reader.incomplete {
		return p.result().AtLeast(outcome.Waiting)
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
func (p *pass) result() outcome.Outcome {
	out := outcomeOf(p.problems)
	if p.deleter.isBlocked() {
		out = out.AtLeast(outcome.Waiting)
	}
	if p.evaluation != nil && p.evaluation.OutOfTime() {
		out = out.AtLeast(outcome.Again) // no event tells when a busy machine is not busy any more
	}
	return out
}

// summarize sums up what the pass has found so far.
func (p *pass) summarize() conditions.Summary {
	return conditions.Summarize(slices.Concat(p.problems, p.pending), p.outcome, conditions.Kept(p.deleter.kept))
}

// add adds to the problems that the reconcile found.
func (p *pass) add(problems ...conditions.Problem) { p.problems = append(p.problems, problems...) }

// outcomeOf is the outcome of a reconcile that had these problems. What goes away without an event is tried again; what no
// condition reports is for the log.
func outcomeOf(problems []conditions.Problem) outcome.Outcome {
	var out outcome.Outcome
	var errs []error
	for _, problem := range problems {
		if problem.IsEventful() {
			out = out.AtLeast(outcome.Waiting)
			continue
		}
		out = out.AtLeast(outcome.Again)
		if problem.IsLogged() {
			errs = append(errs, fmt.Errorf("%s: %w", problem.Subject, problem.Err))
		}
	}
	out.Err = errors.Join(errs...)
	return out
}
