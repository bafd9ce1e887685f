package conditions

import (
	"cmp"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"kanon.dev/kanon/engine/queue"
)

// Condition is the state of a parent for a rule: which of Kanon's conditions is true, and why. The zero value stands
// for a parent that the rule does not select.
type Condition struct{ Type, Reason string }

// ruleState is what is known of the parents of one rule for metrics and for the report on the rule.
type ruleState struct {
	// conditions has the Condition of each parent that was reconciled and that the rule selects.
	conditions map[types.NamespacedName]Condition
	// denied has what the ServiceAccount of the rule was not allowed to do for a parent.
	denied map[types.NamespacedName]string
}

// ofRuleLocked returns the state of a rule, which may be changed.
func (s *Store) ofRuleLocked(id string) *ruleState {
	of := s.byRule[id]
	if of == nil {
		of = &ruleState{conditions: make(map[types.NamespacedName]Condition), denied: make(map[types.NamespacedName]string)}
		s.byRule[id] = of
	}
	return of
}

// SetCondition sets the Condition of a parent for a rule.
func (s *Store) SetCondition(k queue.Key, to Condition) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if of := s.ofRuleLocked(k.Rule); to == (Condition{}) {
		delete(of.conditions, k.Parent)
	} else {
		of.conditions[k.Parent] = to
	}
}

// Conditions counts the parents of a rule by Condition, of those that were reconciled and that it selects.
func (s *Store) Conditions(rule string) map[Condition]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	counts := make(map[Condition]int)
	if of := s.byRule[rule]; of != nil {
		for _, condition := range of.conditions {
			counts[condition]++
		}
	}
	return counts
}

// SetDenied stores what the last reconcile of a parent was not allowed to do; empty if nothing was denied. It reports
// whether that is a change. The parents report what blocks a patch.
func (s *Store) SetDenied(k queue.Key, what string) (changed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	of := s.ofRuleLocked(k.Rule)
	if k.Patch != "" || of.denied[k.Parent] == what {
		return false
	}
	if of.denied[k.Parent] = what; what == "" {
		delete(of.denied, k.Parent)
	}
	return true
}

// Denied returns one thing that the ServiceAccount of a rule is not allowed to do, and for how many parents anything
// was denied.
func (s *Store) Denied(rule string) (what string, parents int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	of := s.byRule[rule]
	if of == nil || len(of.denied) == 0 {
		return "", 0
	}
	first := slices.MinFunc(slices.Collect(maps.Keys(of.denied)), func(a, b types.NamespacedName) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return of.denied[first], len(of.denied)
}
