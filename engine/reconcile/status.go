package reconcile

import (
	"context"
	"slices"

	"github.com/go-logr/logr"

	"kanon.dev/kanon/engine/conditions"
	"kanon.dev/kanon/restmapping/openapi"
	"kanon.dev/kanon/rules/program"
)

// report reports on the parent of a pass: in its status, with what the rule renders there; in its conditions; and by
// Events, those of spec.events and those about problems. It writes nothing that the parent has already. What others have
// in the status stays theirs: another rule, or another controller whose conditions are in the same list.
type report struct {
	p *pass

	// result is what the rule rendered, without what is left to others or kept as it is.
	result program.Result
	// muted is true if the rule may not emit the Events that it renders.
	muted bool
	// yields is true if Kanon's conditions on the parent belong to another rule.
	yields bool
}

func (p *pass) report() *report { return &report{p: p, result: p.result} }

// report reports what the pass found, with these problems. It returns its own problems. It reports nothing of a parent
// that looks ready while a problem is left that the next reconcile resolves: that one, which follows soon, knows whether
// it is ready.
func (s *report) report(ctx context.Context, problems []conditions.Problem) []conditions.Problem {
	if slices.ContainsFunc(problems, conditions.Problem.IsTransient) && s.summarize(problems).Type == conditions.Ready {
		return nil
	}
	before := len(problems)
	problems = append(slices.Clip(problems), s.yieldStatus(ctx)...)
	problems = append(problems, s.checkEvents(ctx)...)
	summary := s.summarize(problems)
	if s.result.KeepStatus {
		problems = append(problems, s.keepStatus(ctx, summary)...)
	} else if err := s.writeStatus(ctx, s.result.Status, summary); err != nil {
		problems = append(problems, s.problemOf(err))
		summary = s.summarize(problems)
		if conditions.IsInvalid(err) {
			problems = append(problems, s.keepStatus(ctx, summary)...)
		}
	}
	isFinal := !slices.ContainsFunc(problems, conditions.Problem.IsTransient) // otherwise the next reconcile knows better
	if isFinal {
		s.emitEvents()
	}
	s.emitSummary(ctx, summary)
	s.count(ctx, summary)
	if isFinal {
		s.answer(ctx, summary)
	}
	return problems[before:]
}

// reportDeletion is report for a parent that is being deleted: what the rule rendered in its status stays.
func (s *report) reportDeletion(ctx context.Context, problems []conditions.Problem) []conditions.Problem {
	summary := s.summarize(problems)
	problems = s.keepStatus(ctx, summary)
	s.emitSummary(ctx, summary)
	s.count(ctx, summary)
	s.answer(ctx, summary)
	return problems
}

// count records the parent's condition for metrics, and logs it.
func (s *report) count(ctx context.Context, summary conditions.Summary) {
	logr.FromContextOrDiscard(ctx).V(4).Info("Reported", "condition", summary.Type, "reason", summary.Reason, "message", summary.Message)
	s.p.r.Parents.SetCondition(s.p.key, conditions.Condition{Type: summary.Type, Reason: summary.Reason})
}

func (s *report) summarize(problems []conditions.Problem) conditions.Summary {
	summary := conditions.Summarize(slices.Concat(problems, s.p.pending), s.result, conditions.Kept(s.p.kept))
	summary.Message = s.p.names.Text(summary.Message)
	return summary
}

// reportUnselected answers a request for a reconcile of a parent that the rule does not select.
func (s *report) reportUnselected(ctx context.Context) {
	s.answer(ctx, conditions.Summary{Type: "NotSelected", Message: "the rule does not select it"})
}

// clear removes everything that the rule ever wrote to the parent's status.
func (s *report) clear(ctx context.Context) []conditions.Problem {
	err := s.syncStatus(ctx, nil)
	if err == nil {
		var shape openapi.ConditionsShape
		if shape, err = s.conditionsShape(ctx); err == nil && s.mergesConditions(shape, nil) {
			err = s.mergeConditions(ctx, nil)
		}
	}
	if err != nil {
		return []conditions.Problem{s.problemOf(err)}
	}
	return nil
}

// problemOf returns the problem that the parent's status could not be written.
func (s *report) problemOf(err error) conditions.Problem {
	return conditions.OfWrite("status", s.p.redacted(err))
}
