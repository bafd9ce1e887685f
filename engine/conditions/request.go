package conditions

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Annotations that a user sets on a parent. They apply to all rules for its kind.
const (
	// AnnotationSuspend, if true, suspends the parent: everything is left as it is.
	AnnotationSuspend = "kanon.dev/suspend"
	// AnnotationReconcileAt requests a reconcile when its value changes. The value has no meaning, but only a time gets
	// an answer.
	AnnotationReconcileAt = "kanon.dev/reconcile-at"
	// AnnotationFinalized, followed by the id of a rule, ends the rule's finalize for the parent. Kanon sets it when
	// the cleanup is done, and a user may set it to end the cleanup early.
	AnnotationFinalized = "kanon.dev/finalized-"
)

// IsFinalized reports whether the finalize of the rule with that id has ended for a parent.
func IsFinalized(parent metav1.Object, ruleID string) bool {
	_, is := parent.GetAnnotations()[AnnotationFinalized+ruleID]
	return is
}

// IsSuspended reports whether a parent is suspended. Everything that Go parses as true counts: somebody who writes True
// does not mean that children may be deleted.
func IsSuspended(parent metav1.Object) bool {
	suspended, err := strconv.ParseBool(parent.GetAnnotations()[AnnotationSuspend])
	return err == nil && suspended
}

// ReconcileAt returns the request on a parent; empty if there is none.
func ReconcileAt(parent metav1.Object) string { return parent.GetAnnotations()[AnnotationReconcileAt] }

// answerLimit is the greatest difference between the time of a request and now for which it gets an answer. Nobody
// waits for longer, and after a restart it is unknown which requests were answered. Clocks may differ a little.
const answerLimit = 10 * time.Minute

// WantsAnswer reports whether somebody may wait for the answer to a request.
func WantsAnswer(value string, now time.Time) bool {
	at, err := time.Parse(time.RFC3339Nano, value)
	return err == nil && now.Sub(at).Abs() < answerLimit
}

// ReasonReconciled is the reason of an Event with an Answer.
const ReasonReconciled = "Reconciled"

// Answer is the answer of one rule to a request.
type Answer struct {
	// Rule is the rule as namespace/name. Request is the value of AnnotationReconcileAt.
	Rule, Request string
	// Outcome is the type of the condition that is true, such as Ready or Stalled. Reason and Message are those of the
	// condition.
	Outcome, Reason, Message string
}

// The parts of an answer's text.
const (
	beginRule    = "rule "
	beginRequest = " reconciled it as requested at "
)

// String returns the answer as the message of an Event.
func (a Answer) String() string {
	outcome := a.Outcome
	if a.Reason != "" && a.Reason != a.Outcome {
		outcome += " (" + a.Reason + ")"
	}
	return fmt.Sprintf("%s%s%s%s: %s: %s", beginRule, a.Rule, beginRequest, a.Request, outcome, a.Message)
}

// ParseAnswer parses the message of an Event, which may have been cut or combined with others. ok reports whether it is
// an answer.
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

// AnnotationVerbosity raises the log level for one parent, or for one rule and all of its parents:
//
//	kanon.dev/verbosity: "4"
//
// Its value is that of the flag -v. It never lowers the level.
const AnnotationVerbosity = "kanon.dev/verbosity"

// maxVerbosity is the highest level. Above it, client-go logs whole objects, which not everybody who may annotate one
// may read.
const maxVerbosity = 4

// Verbosity parses a value of AnnotationVerbosity. It returns 0 for anything but a positive number.
func Verbosity(value string) int {
	level, err := strconv.Atoi(value)
	if err != nil {
		return 0
	}
	return min(max(level, 0), maxVerbosity)
}

// VerbosityOf returns the verbosity that a parent asks for.
func VerbosityOf(parent metav1.Object) int {
	return Verbosity(parent.GetAnnotations()[AnnotationVerbosity])
}

// LogAt returns a logger that logs what log does, and everything up to a verbosity.
func LogAt(log logr.Logger, verbosity int) logr.Logger {
	sink := log.GetSink()
	if verbosity <= 0 || sink == nil || sink.Enabled(verbosity) {
		return log
	}
	return log.WithSink(verboseSink{LogSink: sink, verbosity: verbosity})
}

// verboseSink is a sink with a higher level than its own. A logger only asks its sink whether a level is enabled; the
// sink writes everything that it gets.
type verboseSink struct {
	logr.LogSink

	verbosity int
}

// Enabled is part of logr.LogSink.
func (s verboseSink) Enabled(level int) bool { return level <= s.verbosity || s.LogSink.Enabled(level) }

// WithValues is part of logr.LogSink.
func (s verboseSink) WithValues(keysAndValues ...any) logr.LogSink {
	s.LogSink = s.LogSink.WithValues(keysAndValues...)
	return s
}

// WithName is part of logr.LogSink.
func (s verboseSink) WithName(name string) logr.LogSink {
	s.LogSink = s.LogSink.WithName(name)
	return s
}
