package engine

import (
	"context"
	"errors"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"kanon.dev/kanon/engine/authorization"
	"kanon.dev/kanon/engine/operator"
	"kanon.dev/kanon/engine/outcome"
	"kanon.dev/kanon/engine/queue"
)

// seekKey is the work about a rule that is about none of its parents.
func seekKey(op *operator.Operator) queue.Key { return queue.Key{Rule: op.ID} }

// mustSeek tells whether there is such work when a rule starts.
func (e *Engine) mustSeek(op *operator.Operator) bool {
	return asksForAll(op) || e.mustFindHiddenParents(op)
}

// seek does the work about a rule that is about none of its parents.
func (e *Engine) seek(ctx context.Context, op *operator.Operator) outcome.Outcome {
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

// asksForAll tells whether it is asked once for all parents of a rule whether the rule may read them. What is reported on the rule of a
// tenant must not depend on objects that the tenant may not read: a rule that is refused because of a parent, or counts it, tells that
// there is one with the labels that it selects.
func asksForAll(op *operator.Operator) bool { return op.Identity.Confined && op.Removal == nil }

// askForAll asks whether a tenant's rule may read all objects of the kind of its parents in the tenant's namespace.
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

// mayCount tells whether the status of a rule may have how many objects it has.
func (e *Engine) mayCount(op *operator.Operator) bool {
	return !asksForAll(op) || op.ReadsParents.Load()
}

// enqueueIdentified enqueues the parents of kinds whose definition was not known when they were found: a kind without one counts as
// built into Kubernetes, and its parents get no conditions.
func (e *Engine) enqueueIdentified(kinds []schema.GroupVersionKind) {
	for _, op := range e.running.Load().ByID {
		if op.Removal == nil && slices.Contains(kinds, op.Parent.GVK) {
			e.enqueueAll(op)
		}
	}
}
