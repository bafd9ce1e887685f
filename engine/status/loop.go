package status

import (
	"context"
	"fmt"

	"kanon.dev/kanon/engine/conditions"
	"kanon.dev/kanon/engine/feedback"
	"kanon.dev/kanon/engine/plan"
)

// checkStatusLoop keeps the status as it is if the rule computes it from itself, so that each write causes the next
// one.
func (s *Report) checkStatusLoop(ctx context.Context) (problems []conditions.Problem) {
	if s.Inputs == nil || s.result.KeepStatus {
		return nil
	}
	others, err := s.Statuses.Others(ctx, s.status(nil))
	if err != nil {
		return []conditions.Problem{s.problemOf(err)}
	}
	if shape, err := s.conditionsShape(ctx); err == nil && s.mergesConditions(shape, s.result.Status) {
		others = conditions.Without(others, s.Op.Program.ConditionPrefix, s.Op.Program.ConditionTypes())
	}
	digest, err := s.Inputs.Digest(s.Object, others, plan.IsStatusManager)
	if err != nil {
		return []conditions.Problem{s.problemOf(err)}
	}
	s.Memory.StatusLoop.Evaluated(s.Inputs, digest, s.Due)
	s.changed = s.changedStatus()
	for _, leaf := range s.Memory.StatusLoop.Looping(s.changed) {
		problems = append(problems, conditions.Problem{
			Subject: leaf, Reason: conditions.ReasonRestless, Stalled: true,
			Err: fmt.Errorf("it changes in every evaluation without another cause (%d in a row): "+
				"the rule computes it from the status that it writes", feedback.MaxStatusChanges),
		})
		s.result.KeepStatus = true
	}
	if s.result.KeepStatus {
		for i := range s.result.Conditions {
			s.result.Conditions[i].Keep = true
		}
	}
	return problems
}

// changedStatus lists what the rule reports differently from what the parent has.
func (s *Report) changedStatus() []string {
	changed := feedback.ChangedLeaves("status", s.result.Status, s.Object.Object["status"])
	for _, c := range s.result.Conditions {
		if c.Keep {
			continue
		}
		now := conditions.Find(s.Object, c.Type)
		if now["status"] != c.Status || now["reason"] != c.Reason || now["message"] != c.Message {
			changed = append(changed, "condition "+c.Type)
		}
	}
	return changed
}
