package status

import (
	"slices"
	"strings"

	"kanon.dev/kanon/engine/apply/statuswriter"
	"kanon.dev/kanon/engine/conditions"
	"kanon.dev/kanon/engine/operator"
	"kanon.dev/kanon/engine/plan"
	"kanon.dev/kanon/kinds/schemas"
)

// Ready, Reconciling and Stalled speak of one state, so they are all one rule's or all another's: Ready=True beside the
// Stalled=True of a second rule would say nothing. Two rules for one kind of parents need two prefixes; without them, the rule
// whose conditions are there keeps them.

// yieldsConditions tells whether Kanon's conditions on the parent are left to somebody else: to another rule, or to a field
// manager that is no rule.
func (s *Report) yieldsConditions(shape schemas.ConditionsShape) bool {
	isForeign := func(manager string) bool { return !strings.HasPrefix(manager, plan.StatusManagers) }
	return s.haveConditions(isForeign, conditions.Ready, conditions.Reconciling, conditions.Stalled) || s.rivalWithConditions(shape) != ""
}

// rivalWithConditions is the name of the other rule that Kanon's conditions on the parent are left to; empty where there is none.
func (s *Report) rivalWithConditions(shape schemas.ConditionsShape) string {
	for _, rival := range s.rivals() {
		if s.isOutdone(rival, shape) {
			return rival.Name.String()
		}
	}
	return ""
}

// isOutdone tells whether the conditions are a rival's. Every rule that writes them writes Ready, so whoever wrote that last has
// them all. Where the API server does not record whose a condition is, the first rule by name has them.
func (s *Report) isOutdone(rival *operator.Operator, shape schemas.ConditionsShape) bool {
	if !shape.ListMap {
		return shape.HasConditions && rival.Name.String() < s.Op.Name.String() && rival.Selects(s.Object, plan.NamespaceLabels(s.Monitors)) == plan.Selected
	}
	isIts := func(manager string) bool { return manager == rival.StatusManager() }
	return s.haveConditions(isIts, conditions.Ready) ||
		!statuswriter.HoldsCondition(s.Object, s.Op.StatusManager(), s.Op.Program.ConditionPrefix+conditions.Ready) &&
			s.haveConditions(isIts, conditions.Reconciling, conditions.Stalled)
}

// haveConditions tells whether some field managers have any of these conditions, with the rule's prefix, on the parent.
func (s *Report) haveConditions(managers func(string) bool, names ...string) bool {
	types := make([]string, len(names))
	for i, name := range names {
		types[i] = s.Op.Program.ConditionPrefix + name
	}
	return statuswriter.HeldByAnother(s.Object, s.Op.StatusManager(), managers, types...)
}

// rivals are the other rules that run for the kind of the parent and have the same conditionPrefix, by name.
func (s *Report) rivals() []*operator.Operator {
	var found []*operator.Operator
	for _, other := range s.Running.Load().ByID {
		if other.ID != s.Op.ID && other.Removal == nil && other.Parent.GVK.GroupKind() == s.Op.Parent.GVK.GroupKind() &&
			other.Program.ConditionPrefix == s.Op.Program.ConditionPrefix {
			found = append(found, other)
		}
	}
	slices.SortFunc(found, func(a, b *operator.Operator) int { return strings.Compare(a.Name.String(), b.Name.String()) })
	return found
}
