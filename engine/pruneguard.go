package engine

import (
	"maps"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kanon.dev/kanon/engine/conditions"
	"kanon.dev/kanon/engine/guard"
	"kanon.dev/kanon/engine/identity"
	"kanon.dev/kanon/engine/operator"
	"kanon.dev/kanon/engine/plan"
	"kanon.dev/kanon/engine/queue"
	"kanon.dev/kanon/engine/record"
	"kanon.dev/kanon/wire"
)

// guards has the guard of each rule that runs. Package guard decides; here is what follows from that.
type guards struct {
	mu     sync.Mutex
	byRule map[string]*guard.Guard // guarded by mu
}

func newGuards() *guards { return &guards{byRule: make(map[string]*guard.Guard)} }

// ofLocked is the guard of a rule. One that has stopped has none, and gets one for this call only.
func (s *guards) ofLocked(id string) *guard.Guard {
	if g := s.byRule[id]; g != nil {
		return g
	}
	return &guard.Guard{}
}

// forgetRule drops the guard of a rule that stopped.
func (s *guards) forgetRule(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.byRule, id)
}

// blocked has, by the rule's id, what a revision would delete and may not without being confirmed.
func (s *guards) blocked() map[string]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	found := make(map[string]string)
	for id, g := range s.byRule {
		if message := g.Blocked(); message != "" {
			found[id] = conditions.ReasonPruneHeld + ": " + message
		}
	}
	return found
}

// withGuard calls f with the guard of an operator's rule, and does what follows from the outcome.
func (e *Engine) withGuard(op *operator.Operator, f func(*guard.Guard, guard.Revision) guard.Outcome) guard.Outcome {
	r := op.Revision()
	e.guards.mu.Lock()
	g := e.guards.ofLocked(op.ID)
	next := f(g, r)
	if next.Awaits && e.mayDelete(op) {
		next.Requeue = append(next.Requeue, g.Permit(r)...)
	}
	e.guards.mu.Unlock()
	if next.Request {
		e.requestPermission(op)
	}
	for _, k := range next.Requeue {
		e.queue.Add(k)
	}
	if next.Report {
		e.inbox.Notify()
	}
	if next.Evaluated {
		e.enqueueRemovals(op)
	}
	return next
}

// fromGuard returns what f finds of the guard of an operator's rule.
func fromGuard[T any](e *Engine, op *operator.Operator, f func(*guard.Guard, guard.Revision) T) T {
	r := op.Revision()
	e.guards.mu.Lock()
	defer e.guards.mu.Unlock()
	return f(e.guards.ofLocked(op.ID), r)
}

// confirm notes which revisions of a rule its author has confirmed. A rule has a guard from the first such call on.
func (e *Engine) confirm(op *operator.Operator, revisions []string) {
	e.guards.mu.Lock()
	e.guards.byRule[op.ID] = e.guards.ofLocked(op.ID)
	e.guards.mu.Unlock()
	e.withGuard(op, func(g *guard.Guard, r guard.Revision) guard.Outcome { return g.Confirm(r, revisions) })
}

// beginGuard has the guard wait for what each of these parents would lose to the operator's revision.
func (e *Engine) beginGuard(op *operator.Operator, parents queue.Keys) {
	e.withGuard(op, func(g *guard.Guard, r guard.Revision) guard.Outcome {
		if !e.running.IsCurrent(op) {
			return guard.Outcome{} // another revision has begun meanwhile
		}
		return g.Begin(r, parents, e.mayDelete(op))
	})
}

// decide reports whether objects may be deleted that the rule no longer needs for a parent.
func (e *Engine) decide(op *operator.Operator, parent queue.Key, objects []identity.ID) bool {
	return e.withGuard(op, func(g *guard.Guard, r guard.Revision) guard.Outcome { return g.Decide(r, parent, objects) }).May
}

// doubt is decide where it is not known what the rule no longer needs for a parent: these objects at most.
func (e *Engine) doubt(op *operator.Operator, parent queue.Key, objects []identity.ID) bool {
	return e.withGuard(op, func(g *guard.Guard, r guard.Revision) guard.Outcome { return g.Doubt(r, parent, objects) }).May
}

// excuse tells the guard that a parent no longer exists, or is being deleted.
func (e *Engine) excuse(op *operator.Operator, parent queue.Key) {
	e.withGuard(op, func(g *guard.Guard, r guard.Revision) guard.Outcome { return g.Excuse(r, parent) })
}

// reassess does what follows for the guard once the record of the operator's rule has changed.
func (e *Engine) reassess(op *operator.Operator) { e.withGuard(op, (*guard.Guard).Assess) }

// isReleased reports whether the operator's revision may delete what it does not render.
func (e *Engine) isReleased(op *operator.Operator) bool {
	return fromGuard(e, op, (*guard.Guard).IsReleased)
}

// isEvaluated reports whether every parent has been reconciled since the operator's revision began.
func (e *Engine) isEvaluated(op *operator.Operator) bool {
	return fromGuard(e, op, (*guard.Guard).IsEvaluated)
}

// mayRecreate reports whether an object of a parent may be deleted to be recreated, as far as the revision is concerned. Where
// it may not, blocked is true if it has to wait until somebody acts.
func (e *Engine) mayRecreate(op *operator.Operator, parent queue.Key) (may, blocked bool) {
	r := op.Revision()
	e.guards.mu.Lock()
	defer e.guards.mu.Unlock()
	return e.guards.ofLocked(op.ID).MayRecreate(r, parent)
}

// mayDelete reports whether the record permits the operator's revision to delete.
func (e *Engine) mayDelete(op *operator.Operator) bool {
	stored, ok := e.records.Get(op.ID)
	return ok && stored.Permits(op.Program.Hash(), maps.Keys(op.Children), maps.Keys(op.Retired))
}

// requestPermission has the record permit the operator's revision to delete.
func (e *Engine) requestPermission(op *operator.Operator) {
	dropped, absent := make(map[schema.GroupVersionKind]bool), slices.Clone(op.Absent)
	for gvk, kind := range op.Retired {
		dropped[gvk] = slices.ContainsFunc(e.monitors.Unread(op.ChildKey(kind.GVR)), func(child *wire.Object) bool { return plan.RuleOfTag(child) == op.ID })
	}
	e.records.UpdateIf(op.ID, func() bool { return e.running.IsCurrentRevision(op) }, func(r *record.Record) {
		r.Permit(op.Program.Hash(), dropped, absent)
	})
}

// riskOf is atRisk of a parent that is not evaluated.
func (e *Engine) riskOf(op *operator.Operator, k queue.Key, parent *unstructured.Unstructured) []identity.ID {
	refs := e.cluster.childrenOf(op, k)
	if op.Program.DeletesParents() {
		refs = append(refs, identity.Of(parent))
	}
	return refs
}
