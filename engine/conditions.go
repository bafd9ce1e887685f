package engine

import (
	"maps"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kanon.dev/kanon/rules"
)

// Condition types, before the rule's prefix. Ready is always there; the other
// two, by the conventions of kstatus, only while they are true.
const (
	conditionReady       = "Ready"
	conditionReconciling = "Reconciling"
	conditionStalled     = "Stalled"
)

// maxMessage bounds a condition's message, in bytes; the API conventions allow
// 32 KiB, and the first problems matter most.
const maxMessage = 4 << 10

// findings are messages of one gravity, in the order they were found, with the
// reason of the first.
type findings struct {
	reason   string
	messages []string
}

func (f *findings) add(reason, message string) {
	waits := f.reason == reasonWaiting || f.reason == reasonProgressing
	if f.reason == "" || waits && reason == reasonKindMissing { // which others wait for
		f.reason = reason
	}
	f.messages = append(f.messages, message)
}

// waitingReason is the reason of a node that waits.
func waitingReason(kindMissing bool) string {
	if kindMissing {
		return reasonKindMissing
	}
	return reasonWaiting
}

// state is how one rule fares with one parent.
type state struct {
	// condition is conditionReady, conditionReconciling or conditionStalled.
	condition string
	reason    string
	message   string
}

func newState(stalled, moving findings) state {
	switch {
	case len(stalled.messages) > 0:
		return state{conditionStalled, stalled.reason, joinMessages(stalled.messages)}
	case len(moving.messages) > 0:
		return state{conditionReconciling, moving.reason, joinMessages(moving.messages)}
	default:
		return state{conditionReady, reasonReady, "every child is up to date and ready"}
	}
}

func joinMessages(messages []string) string {
	return cut(strings.Join(messages, "; "), maxMessage)
}

// cut is the beginning of a text, of so many bytes at the most.
func cut(text string, limit int) string {
	const mark = "…"
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit-len(mark)], "") + mark
}

// conditions is the state as conditions of the parent, with types prefixed.
func (s state) conditions(prefix string, parent *unstructured.Unstructured, now time.Time) []any {
	conditions := []any{newCondition(s.said(prefix+conditionReady, s.condition == conditionReady), parent, now)}
	if s.condition != conditionReady {
		conditions = append(conditions, newCondition(s.said(prefix+s.condition, true), parent, now))
	}
	return conditions
}

func (s state) said(conditionType string, holds bool) rules.Condition {
	status := metav1.ConditionFalse
	if holds {
		status = metav1.ConditionTrue
	}
	return rules.Condition{Type: conditionType, Status: string(status), Reason: s.reason, Message: s.message}
}

// newCondition is a condition as the parent should have it. The lastTransitionTime
// is kept as long as the status is.
func newCondition(c rules.Condition, parent *unstructured.Unstructured, now time.Time) map[string]any {
	since := now.UTC().Format(time.RFC3339)
	if before := findCondition(parent, c.Type); before != nil && before["status"] == c.Status {
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

// ruleConditions are those of spec.conditions: one that has no value now stays as
// the parent has it.
func ruleConditions(said []rules.Condition, parent *unstructured.Unstructured, now time.Time) []any {
	var conditions []any
	for _, c := range said {
		if !c.Held {
			conditions = append(conditions, newCondition(c, parent, now))
		} else if before := findCondition(parent, c.Type); before != nil {
			conditions = append(conditions, maps.Clone(before))
		}
	}
	return conditions
}

// isKanons tells whether a condition's type is one that Kanon keeps.
func isKanons(prefix, conditionType string) bool {
	name, ok := strings.CutPrefix(conditionType, prefix)
	return ok && (name == conditionReady || name == conditionReconciling || name == conditionStalled)
}

// typeOf is the type of a condition, empty when it has none.
func typeOf(condition any) string {
	fields, _ := condition.(map[string]any)
	conditionType, _ := fields["type"].(string)
	return conditionType
}

// findCondition is the condition of that type that the object has, or nil.
func findCondition(obj *unstructured.Unstructured, conditionType string) map[string]any {
	status, ok := obj.Object["status"].(map[string]any)
	if !ok {
		return nil
	}
	conditions, ok := status["conditions"].([]any)
	if !ok {
		return nil
	}
	for _, item := range conditions {
		if condition, ok := item.(map[string]any); ok && typeOf(item) == conditionType {
			return condition
		}
	}
	return nil
}
