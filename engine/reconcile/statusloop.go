package reconcile

import (
	"context"
	"fmt"

	"kanon.dev/kanon/engine/conditions"
	"kanon.dev/kanon/engine/feedback"
	"kanon.dev/kanon/engine/plan"
)

// checkStatusLoop keeps the status as it is where the rule computes it from itself, so that each write asks for the next one.
func (s *statusWriter) checkStatusLoop(ctx context.Context) (problems []conditions.Problem) {
	if s.reader.inputs == nil || s.outcome.StatusHeld {
		return nil
	}
	others, err := s.Writer.OthersStatus(ctx, s.status(nil))
	if err != nil {
		return []conditions.Problem{s.problemOf(err)}
	}
	if shape, err := s.conditionsShape(ctx); err == nil && s.mergesConditions(shape, s.outcome.Status) {
		others = conditions.Without(others, s.op.Program.ConditionPrefix, s.op.Program.ConditionTypes())
	}
	digest, err := s.reader.inputs.Digest(s.parent, others, plan.IsStatusManager)
	if err != nil {
		return []conditions.Problem{s.problemOf(err)}
	}
	s.memory.StatusLoop.Evaluated(s.reader.inputs, digest, s.due)
	s.changed = s.changedStatus()
	for _, leaf := range s.memory.StatusLoop.Looping(s.changed) {
		problems = append(problems, conditions.Problem{
			Subject: leaf, Reason: conditions.ReasonRestless, Stalled: true,
			Err: fmt.Errorf("it changes in every evaluation without another cause (%d in a row): "+
				"the rule computes it from the status that it writes", feedback.MaxStatusChanges),
		})
		s.outcome.StatusHeld = true
	}
	if s.outcome.StatusHeld {
		for i := range s.outcome.Conditions {
			s.outcome.Conditions[i].Held = true
		}
	}
	return problems
}

// changedStatus names what the rule reports otherwise than the parent does now.
func (s *statusWriter) changedStatus() []string {
	changed := feedback.ChangedLeaves("status", s.outcome.Status, s.parent.Object["status"])
	for _, c := range s.outcome.Conditions {
		if c.Held {
			continue
		}
		now := conditions.Find(s.parent, c.Type)
		if now["status"] != c.Status || now["reason"] != c.Reason || now["message"] != c.Message {
			changed = append(changed, "condition "+c.Type)
		}
	}
	return changed
}
