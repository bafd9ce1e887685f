package conditions

import (
	"maps"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kanon.dev/kanon/rules/program"
)

// Types of Kanon's conditions, before the rule's prefix. Ready always exists; by the conventions of kstatus, the other
// two exist only while they are true.
const (
	Ready       = "Ready"
	Reconciling = "Reconciling"
	Stalled     = "Stalled"
)

// IsKanons reports whether a condition's type is one of Kanon's, with the rule's prefix.
func IsKanons(prefix, conditionType string) bool {
	name, ok := strings.CutPrefix(conditionType, prefix)
	return ok && (name == Ready || name == Reconciling || name == Stalled)
}

// Conditions returns the conditions of the parent for the summary, with prefixed types.
func (s Summary) Conditions(prefix string, parent *unstructured.Unstructured, now time.Time) []any {
	conditions := []any{newCondition(s.condition(prefix+Ready, s.Type == Ready), parent, now)}
	if s.Type != Ready {
		conditions = append(conditions, newCondition(s.condition(prefix+s.Type, true), parent, now))
	}
	return conditions
}

func (s Summary) condition(conditionType string, isTrue bool) program.Condition {
	status := metav1.ConditionFalse
	if isTrue {
		status = metav1.ConditionTrue
	}
	return program.Condition{Type: conditionType, Status: string(status), Reason: s.Reason, Message: s.Message}
}

// newCondition returns a condition for the parent. It keeps the lastTransitionTime while the status stays the same.
func newCondition(c program.Condition, parent *unstructured.Unstructured, now time.Time) map[string]any {
	since := now.UTC().Format(time.RFC3339)
	if before := Find(parent, c.Type); before != nil && before["status"] == c.Status {
		if kept, ok := before["lastTransitionTime"].(string); ok {
			since = kept
		}
	}
	return map[string]any{
		"type":               c.Type,
		"status":             c.Status,
		"reason":             c.Reason,
		"message":            c.Message,
		"observedGeneration": parent.GetGeneration(),
		"lastTransitionTime": since,
	}
}

// OfRule returns the conditions that spec.conditions rendered. A condition without a value now stays as the parent has
// it.
func OfRule(rendered []program.Condition, parent *unstructured.Unstructured, now time.Time) []any {
	var conditions []any
	for _, c := range rendered {
		if !c.Keep {
			conditions = append(conditions, newCondition(c, parent, now))
		} else if before := Find(parent, c.Type); before != nil {
			conditions = append(conditions, maps.Clone(before))
		}
	}
	return conditions
}

// Find returns an object's condition of a type, or nil.
func Find(obj *unstructured.Unstructured, conditionType string) map[string]any {
	status, ok := obj.Object["status"].(map[string]any)
	if !ok {
		return nil
	}
	conditions, ok := status["conditions"].([]any)
	if !ok {
		return nil
	}
	for _, item := range conditions {
		if condition, ok := item.(map[string]any); ok && TypeOf(item) == conditionType {
			return condition
		}
	}
	return nil
}

// TypeOf returns the type of a condition; empty if it has none.
func TypeOf(condition any) string {
	fields, _ := condition.(map[string]any)
	conditionType, _ := fields["type"].(string)
	return conditionType
}

// Without returns a status without Kanon's conditions for a rule and those of the given types.
func Without(status map[string]any, prefix string, types []string) map[string]any {
	list, ok := status["conditions"].([]any)
	if !ok {
		return status
	}
	others := slices.DeleteFunc(slices.Clone(list), func(item any) bool {
		return IsKanons(prefix, TypeOf(item)) || slices.Contains(types, TypeOf(item))
	})
	status = maps.Clone(status)
	if status["conditions"] = others; len(others) == 0 {
		delete(status, "conditions")
	}
	return status
}
