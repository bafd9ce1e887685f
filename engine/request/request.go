package request

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Annotations that a user sets on a parent. They hold for all rules of its kind.
const (
	// AnnotationSuspend, when true, has everything left as it is.
	AnnotationSuspend = "kanon.dev/suspend"
	// AnnotationReconcileAt, when it changes, asks for a reconcile at once. Its value means nothing; the time is what people
	// write, and what gets an answer.
	AnnotationReconcileAt = "kanon.dev/reconcile-at"
	// AnnotationFinalized and the id of a rule have the rule do no more of its finalize. Kanon sets it when that is done, and whoever
	// wants to end it before.
	AnnotationFinalized = "kanon.dev/finalized-"
)

// IsFinalized reports whether the finalize of the rule with that id is done, or is not to be done, for a parent.
func IsFinalized(parent metav1.Object, ruleID string) bool {
	_, is := parent.GetAnnotations()[AnnotationFinalized+ruleID]
	return is
}

// IsSuspended reports whether a parent asks for nothing to be done. All that Go takes for true counts: who wrote True did not mean
// that children may be deleted.
func IsSuspended(parent metav1.Object) bool {
	suspended, err := strconv.ParseBool(parent.GetAnnotations()[AnnotationSuspend])
	return err == nil && suspended
}

// ReconcileAt is the request on a parent; empty without one.
func ReconcileAt(parent metav1.Object) string { return parent.GetAnnotations()[AnnotationReconcileAt] }

// answerLimit is how far the time of a request may be from now, so that it gets an answer. Nobody waits for longer, and after a
// restart it is not known which requests were answered. Two clocks may differ a little.
const answerLimit = 10 * time.Minute

// WantsAnswer reports whether somebody may wait for the answer to a request.
func WantsAnswer(value string, now time.Time) bool {
	at, err := time.Parse(time.RFC3339Nano, value)
	return err == nil && now.Sub(at).Abs() < answerLimit
}

// ReasonReconciled is the reason of an Event that answers.
const ReasonReconciled = "Reconciled"

// Answer is what one rule answers to a request.
type Answer struct {
	// Rule is namespace/name of the rule, and Request the value of AnnotationReconcileAt.
	Rule, Request string
	// Outcome is the type of the condition that is true, such as Ready or Stalled, and its reason; Message is its message.
	Outcome, Reason, Message string
}

// The parts of an answer's text.
const (
	beginRule    = "rule "
	beginRequest = " reconciled it as requested at "
)

// String is the answer as the message of an Event.
func (a Answer) String() string {
	outcome := a.Outcome
	if a.Reason != "" && a.Reason != a.Outcome {
		outcome += " (" + a.Reason + ")"
	}
	return fmt.Sprintf("%s%s%s%s: %s: %s", beginRule, a.Rule, beginRequest, a.Request, outcome, a.Message)
}

// ParseAnswer reads the message of an Event, which may have been cut or combined with others. It reports whether it is an answer.
func ParseAnswer(message string) (a Answer, ok bool) {
	before, rest, ok1 := strings.Cut(message, beginRequest)
	at := strings.LastIndex(before, beginRule)
	request, rest, ok2 := strings.Cut(rest, ": ")
	outcome, text, ok3 := strings.Cut(rest, ": ")
	if !ok1 || !ok2 || !ok3 || at < 0 {
		return Answer{}, false
	}
	a = Answer{Rule: before[at+len(beginRule):], Request: request, Outcome: outcome, Message: text}
	if outcome, reason, ok := strings.Cut(outcome, " ("); ok {
		a.Outcome, a.Reason = outcome, strings.TrimSuffix(reason, ")")
	}
	if a.Reason == "" {
		a.Reason = a.Outcome
	}
	return a, true
}
