package reconcile

import (
	"slices"
	"strings"

	"kanon.dev/kanon/engine/apply"
	"kanon.dev/kanon/engine/conditions"
	"kanon.dev/kanon/engine/operator"
	"kanon.dev/kanon/restmapping/openapi"
)

// Ready, Reconciling and Stalled describe one state, so they all belong to the same rule: Ready=True beside the
// Stalled=True of a second rule would mean nothing. Two rules for one kind of parents need two prefixes. Without them,
// the rule whose conditions exist keeps them.

// yieldsConditions reports whether Kanon's conditions on the parent belong to another rule, or to a field manager that
// is not a rule's.
func (s *report) yieldsConditions(shape openapi.ConditionsShape) bool {
	isForeign := func(manager string) bool { return !strings.HasPrefix(manager, operator.StatusManagers) }
	return s.haveConditions(isForeign, conditions.Ready, conditions.Reconciling, conditions.Stalled) || s.rivalWithConditions(shape) != ""
}

// rivalWithConditions returns the name of the other rule to which Kanon's conditions on the parent belong; empty if
// there is none.
func (s *report) rivalWithConditions(shape openapi.ConditionsShape) string {
	for _, rival := range s.rivals() {
		if s.isOutdone(rival, shape) {
			return rival.Name.String()
		}
	}
	return ""
}

// isOutdone reports whether the conditions belong to a rival. Every rule that writes them writes Ready, so the last
// rule to write Ready has them all. If the API server does not record the owner of a condition, the first rule by name
// has them.
func (s *report) isOutdone(rival *operator.Operator, shape openapi.ConditionsShape) bool {
	if !shape.ListMap {
		return shape.HasConditions && rival.Name.String() < s.p.op.Name.String() && rival.Selects(s.p.parent, operator.NamespaceLabels(s.p.r.Monitors)) == operator.Selected
	}
	isIts := func(manager string) bool { return manager == rival.StatusManager() }
	return s.haveConditions(isIts, conditions.Ready) ||
		!apply.OwnsCondition(s.p.parent, s.p.op.StatusManager(), s.p.op.Program.ConditionPrefix+conditions.Ready) &&
			s.haveConditions(isIts, conditions.Reconciling, conditions.Stalled)
}

// haveConditions reports whether any of the field managers has any of these conditions, with the rule's prefix, on the
// parent.
func (s *report) haveConditions(managers func(string) bool, names ...string) bool {
	types := make([]string, len(names))
	for i, name := range names {
		types[i] = s.p.op.Program.ConditionPrefix + name
	}
	return apply.IsOwnedByAnother(s.p.parent, s.p.op.StatusManager(), managers, types...)
}

// rivals returns the other running rules for the kind of the parent that have the same conditionPrefix, by name.
func (s *report) rivals() []*operator.Operator {
	var found []*operator.Operator
	for _, other := range s.p.r.Running.Load().ByID {
		if other.ID != s.p.op.ID && other.Removal == nil && other.Parent.GVK.GroupKind() == s.p.op.Parent.GVK.GroupKind() &&
			other.Program.ConditionPrefix == s.p.op.Program.ConditionPrefix {
			found = append(found, other)
		}
	}
	slices.SortFunc(found, func(a, b *operator.Operator) int { return strings.Compare(a.Name.String(), b.Name.String()) })
	return found
}
