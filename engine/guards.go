package engine

import (
	"maps"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"kanon.dev/kanon/engine/guard"
	"kanon.dev/kanon/engine/identity"
	"kanon.dev/kanon/engine/monitor"
	"kanon.dev/kanon/engine/operator"
	"kanon.dev/kanon/engine/plan"
	"kanon.dev/kanon/engine/queue"
	"kanon.dev/kanon/engine/record"
	"kanon.dev/kanon/wire"
)

// guards has the guard of each rule that runs. Package guard decides; guards acts on its outcomes.
type guards struct {
	guardsOptions

	mu     sync.Mutex
	byRule map[string]*guard.Guard // guarded by mu
}

// guardsOptions is what guards needs of an engine.
type guardsOptions struct {
	running  *operator.Running
	records  *record.Store
	monitors *monitor.Monitors
	// requeue enqueues a parent that may now be pruned. report is called when the report on a rule has changed, and
	// evaluated when every parent of an operator has been reconciled.
	requeue   func(queue.Key)
	report    func()
	evaluated func(*operator.Operator)
}

func newGuards(options guardsOptions) *guards {
	return &guards{guardsOptions: options, byRule: make(map[string]*guard.Guard)}
}

// ofLocked returns the guard of a rule. A rule that has stopped gets one for this call only.
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

// blocked returns, by the rule's id, what a revision would delete and may not unless it is confirmed.
func (s *guards) blocked() map[string]*guard.Blocked {
	s.mu.Lock()
	defer s.mu.Unlock()
	found := make(map[string]*guard.Blocked)
	for id, g := range s.byRule {
		if blocked := g.Blocked(); blocked != nil {
			found[id] = blocked
		}
	}
	return found
}

// update calls f with the guard of an operator's rule, and acts on the outcome.
func (s *guards) update(op *operator.Operator, f func(*guard.Guard, guard.Revision) guard.Decision) guard.Decision {
	r := op.Revision()
	s.mu.Lock()
	g := s.ofLocked(op.ID)
	next := f(g, r)
	if next.Awaits && s.mayDelete(op) {
		next.Requeue = append(next.Requeue, g.Permit(r)...)
	}
	s.mu.Unlock()
	if next.Request {
		s.requestPermission(op)
	}
	for _, k := range next.Requeue {
		s.requeue(k)
	}
	if next.Report {
		s.report()
	}
	if next.Evaluated {
		s.evaluated(op)
	}
	return next
}

// get returns the result of f for the guard of an operator's rule.
func (s *guards) get(op *operator.Operator, f func(*guard.Guard, guard.Revision) bool) bool {
	r := op.Revision()
	s.mu.Lock()
	defer s.mu.Unlock()
	return f(s.ofLocked(op.ID), r)
}

// confirm tells the guard which revisions of a rule its author has confirmed. The first call creates the guard.
func (s *guards) confirm(op *operator.Operator, revisions []string) {
	s.mu.Lock()
	s.byRule[op.ID] = s.ofLocked(op.ID)
	s.mu.Unlock()
	s.update(op, func(g *guard.Guard, r guard.Revision) guard.Decision { return g.Confirm(r, revisions) })
}

// begin makes the guard wait until each of these parents has reported what it would lose to the operator's revision.
func (s *guards) begin(op *operator.Operator, parents queue.Keys) {
	s.update(op, func(g *guard.Guard, r guard.Revision) guard.Decision {
		if !s.running.IsCurrent(op) {
			return guard.Decision{} // another revision has begun meanwhile
		}
		return g.Begin(r, parents, s.mayDelete(op))
	})
}

// Decide implements reconcile.Guard.
func (s *guards) Decide(op *operator.Operator, parent queue.Key, objects []identity.ID) (may bool) {
	return s.update(op, func(g *guard.Guard, r guard.Revision) guard.Decision { return g.Decide(r, parent, objects) }).May
}

// Doubt implements reconcile.Guard.
func (s *guards) Doubt(op *operator.Operator, parent queue.Key, objects []identity.ID) (may bool) {
	return s.update(op, func(g *guard.Guard, r guard.Revision) guard.Decision { return g.Doubt(r, parent, objects) }).May
}

// Excuse implements reconcile.Guard.
func (s *guards) Excuse(op *operator.Operator, parent queue.Key) {
	s.update(op, func(g *guard.Guard, r guard.Revision) guard.Decision { return g.Excuse(r, parent) })
}

// reassess lets the guard act on a change of the rule's record.
func (s *guards) reassess(op *operator.Operator) { s.update(op, (*guard.Guard).Assess) }

// isReleased reports whether the operator's revision may delete what it does not render.
func (s *guards) isReleased(op *operator.Operator) bool {
	return s.get(op, (*guard.Guard).IsReleased)
}

// isEvaluated reports whether every parent has been reconciled since the operator's revision began.
func (s *guards) isEvaluated(op *operator.Operator) bool {
	return s.get(op, (*guard.Guard).IsEvaluated)
}

// MayRecreate implements reconcile.Guard.
func (s *guards) MayRecreate(op *operator.Operator, parent queue.Key) (may, blocked bool) {
	r := op.Revision()
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ofLocked(op.ID).MayRecreate(r, parent)
}

// mayDelete reports whether the record permits the operator's revision to delete.
func (s *guards) mayDelete(op *operator.Operator) bool {
	stored, ok := s.records.Get(op.ID)
	return ok && stored.Permits(op.Program.Hash, maps.Keys(op.Children), maps.Keys(op.Retired))
}

// requestPermission writes to the record that the operator's revision may delete.
func (s *guards) requestPermission(op *operator.Operator) {
	dropped, absent := make(map[schema.GroupVersionKind]bool), slices.Clone(op.Absent)
	for gvk, kind := range op.Retired {
		dropped[gvk] = slices.ContainsFunc(s.monitors.Unread(op.ChildKey(kind.GVR)), func(child *wire.Object) bool { return plan.RuleOfTag(child) == op.ID })
	}
	s.records.UpdateIf(op.ID, func() bool { return s.running.IsCurrentRevision(op) }, func(r *record.Record) {
		r.Permit(op.Program.Hash, dropped, absent)
	})
}

// MayCleanUp reports whether a removal may begin to delete: once the other rules for the same kind of parents have
// taken over what they render. It is true for an operator that removes nothing or keeps the children.
func (s *guards) MayCleanUp(op *operator.Operator) bool {
	if op.Removal == nil || op.Removal.KeepsChildren() {
		return true
	}
	for _, other := range s.running.Load().ByID {
		if isOfAnotherTenant(op, other) {
			continue // it sees none of these parents
		}
		if other.Removal == nil && other.Parent.GVK.GroupKind() == op.Parent.GVK.GroupKind() && !s.isEvaluated(other) {
			return false
		}
	}
	return true
}

// isOfAnotherTenant reports whether a rule is confined to a namespace other than op's.
func isOfAnotherTenant(op, other *operator.Operator) bool {
	return other.Identity.Confined && other.Name.Namespace != op.Name.Namespace
}
