package engine

import (
	"maps"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"kanon.dev/kanon/engine/guard"
	"kanon.dev/kanon/engine/identity"
	"kanon.dev/kanon/engine/operator"
	"kanon.dev/kanon/engine/queue"
	"kanon.dev/kanon/engine/record"
	"kanon.dev/kanon/engine/watch"
)

// guards acts on what the guards of operators decide. It implements reconcile.Guard.
type guards struct {
	engine *Engine
	// mu guards the Guard of each operator.
	mu sync.Mutex
}

// update calls f with the guard of an operator, and acts on the decision.
func (s *guards) update(op *operator.Operator, f func(*guard.Guard) guard.Decision) guard.Decision {
	e := s.engine
	s.mu.Lock()
	next := f(op.Guard)
	if next.Awaits && s.mayDelete(op) {
		next.Requeue = append(next.Requeue, op.Guard.Permit()...)
	}
	s.mu.Unlock()
	if next.Request {
		s.requestPermission(op)
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

// get returns the result of f for the guard of an operator.
func get[T any](s *guards, op *operator.Operator, f func(*guard.Guard) T) T {
	s.mu.Lock()
	defer s.mu.Unlock()
	return f(op.Guard)
}

// confirm tells the guard which revisions of a rule its author has confirmed.
func (s *guards) confirm(op *operator.Operator, revisions []string) {
	s.update(op, func(g *guard.Guard) guard.Decision { return g.Confirm(revisions) })
}

// begin makes the guard wait until each of these parents has reported what it would lose to the operator's revision.
func (s *guards) begin(op *operator.Operator, parents queue.Keys) {
	s.update(op, func(g *guard.Guard) guard.Decision {
		if !s.engine.running.IsCurrent(op) {
			return guard.Decision{} // it has ended meanwhile
		}
		return g.Begin(parents, s.mayDelete(op))
	})
}

// Decide implements reconcile.Guard.
func (s *guards) Decide(op *operator.Operator, parent queue.Key, objects []identity.ID) (may bool) {
	return s.update(op, func(g *guard.Guard) guard.Decision { return g.Decide(parent, objects) }).May
}

// Doubt implements reconcile.Guard.
func (s *guards) Doubt(op *operator.Operator, parent queue.Key, objects []identity.ID) (may bool) {
	return s.update(op, func(g *guard.Guard) guard.Decision { return g.Doubt(parent, objects) }).May
}

// reassess lets the guard act on a change of the rule's record.
func (s *guards) reassess(op *operator.Operator) { s.update(op, (*guard.Guard).Assess) }

// end ends the revision of an operator that was replaced or has stopped.
func (s *guards) end(op *operator.Operator) {
	s.mu.Lock()
	defer s.mu.Unlock()
	op.Guard.End()
}

// blocked returns what the operator's revision would delete and may not unless it is confirmed; nil if nothing.
func (s *guards) blocked(op *operator.Operator) *guard.Blocked {
	return get(s, op, (*guard.Guard).Blocked)
}

// isReleased reports whether the operator's revision may delete what it does not render.
func (s *guards) isReleased(op *operator.Operator) bool {
	return get(s, op, (*guard.Guard).IsReleased)
}

// isEvaluated reports whether every parent has been reconciled since the operator's revision began.
func (s *guards) isEvaluated(op *operator.Operator) bool {
	return get(s, op, (*guard.Guard).IsEvaluated)
}

// MayRecreate implements reconcile.Guard.
func (s *guards) MayRecreate(op *operator.Operator, parent queue.Key) (may, blocked bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return op.Guard.MayRecreate(parent)
}

// mayDelete reports whether the record permits the operator's revision to delete.
func (s *guards) mayDelete(op *operator.Operator) bool {
	stored, ok := s.engine.records.Get(op.ID)
	return ok && stored.Permits(op.Program.Hash, maps.Keys(op.Children), maps.Keys(op.Retired))
}

// requestPermission writes to the record that the operator's revision may delete.
func (s *guards) requestPermission(op *operator.Operator) {
	e, dropped, absent := s.engine, make(map[schema.GroupVersionKind]bool), slices.Clone(op.Absent)
	for gvk, kind := range op.Retired {
		dropped[gvk] = slices.ContainsFunc(e.monitors.Unread(op.ChildKey(kind.GVR)), func(child *watch.Object) bool {
			return operator.RuleOfTag(child) == op.ID
		})
	}
	e.records.UpdateIf(op.ID, func() bool { return e.running.IsCurrentRevision(op) }, func(r *record.Record) {
		r.Permit(op.Program.Hash, dropped, absent)
	})
}

// MayCleanUp reports whether a removal may begin to delete: once the other rules for the same kind of parents have
// taken over what they render. It is true for an operator that removes nothing or keeps the children.
func (s *guards) MayCleanUp(op *operator.Operator) bool {
	_, waits := s.heirOf(op)
	return !waits
}

// heirOf returns a parent of another rule that a removal waits for, with the rule's id. The parent is empty if the other
// rule has only just started.
func (s *guards) heirOf(op *operator.Operator) (k queue.Key, waits bool) {
	if op.Removal == nil || op.Removal.KeepsChildren() {
		return queue.Key{}, false
	}
	for other := range s.engine.heirs(op) {
		if !s.isEvaluated(other) {
			k := get(s, other, (*guard.Guard).Unreported)
			k.Rule = other.ID
			return k, true
		}
	}
	running := s.engine.running.Load()
	return op.Removal.Heir(func(k queue.Key) bool {
		other := running.ByID[k.Rule]
		return other != nil && other.Removal == nil
	})
}
