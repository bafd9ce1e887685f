package engine

import (
	"context"
	"errors"

	"kanon.dev/kanon/engine/authorization"
	"kanon.dev/kanon/engine/operator"
	"kanon.dev/kanon/engine/outcome"
	"kanon.dev/kanon/engine/queue"
)

// ruleKey is the key for work that concerns a rule and none of its parents.
func ruleKey(op *operator.Operator) queue.Key { return queue.Key{Rule: op.ID} }

// hasRuleWork reports whether there is such work when a rule starts.
func (e *Engine) hasRuleWork(op *operator.Operator) bool {
	return asksForAll(op) || e.mustFindHiddenParents(op)
}

// doRuleWork does the work that concerns a rule and none of its parents.
func (e *Engine) doRuleWork(ctx context.Context, op *operator.Operator) outcome.Outcome {
	if e.mustFindHiddenParents(op) {
		if out := e.findHiddenParents(ctx, op); out.Verdict != outcome.Settled {
			return out
		}
		op.Searched.Store(true)
	}
	if asksForAll(op) {
		return e.askForAll(ctx, op)
	}
	return outcome.Outcome{}
}

// asksForAll reports whether Kanon asks once, for all parents of a rule, whether the rule may read them. The report on
// a tenant's rule must not depend on objects that the tenant may not read: a refusal because of one parent, or a count
// of parents, would reveal that a parent with the selected labels exists.
func asksForAll(op *operator.Operator) bool { return op.Identity.Confined && op.Removal == nil }

// askForAll asks whether a tenant's rule may read all objects of its parents' kind in the tenant's namespace.
func (e *Engine) askForAll(ctx context.Context, op *operator.Operator) outcome.Outcome {
	err := e.reads.Check(ctx, op.Identity, authorization.Read{Resource: op.Parent.GVR, Namespace: op.Identity.Home()})
	if denied, ok := errors.AsType[*authorization.DeniedError](err); ok {
		op.ReadsParents.Store(false)
		return outcome.Outcome{Verdict: outcome.Waiting, After: authorization.Lifetime, Denied: denied.Error()}
	}
	if err != nil {
		return outcome.Outcome{Verdict: outcome.Again, Err: err}
	}
	if !op.ReadsParents.Swap(true) {
		e.objectCounts.changed()
	}
	return outcome.Outcome{}
}
