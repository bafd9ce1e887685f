package conditions

import (
	"context"
	"errors"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"kanon.dev/kanon/engine/apply/refusal"
	"kanon.dev/kanon/kinds/schemas"
	"kanon.dev/kanon/rules/program"
	"kanon.dev/kanon/rules/program/template"
)

// Problem is one thing that blocks a parent.
type Problem struct {
	// Subject is a child, a path in the rule, or an object.
	Subject string
	Reason  string
	// Stalled is true if the problem lasts until somebody changes something.
	Stalled bool
	// Elsewhere is true if another key handles the problem and then enqueues the parent.
	Elsewhere bool
	Err       error
	// Advice is what the author of the rule can do; it may be empty.
	Advice string
}

// Reasoned is an error that has its own reason.
type Reasoned interface {
	error
	// Reason returns the reason of the condition, and whether the problem lasts until somebody changes something.
	Reason() (reason string, stalled bool)
}

// TransientError reports why something cannot be done at this moment. The next reconcile follows by itself and resolves
// it, so neither the log nor a condition mentions it. Compare with errors.Is.
type TransientError struct{ text string }

// Transient makes a TransientError.
func Transient(text string) *TransientError { return &TransientError{text: text} }

func (e *TransientError) Error() string { return e.text }

// OfWrite returns the problem of a failed write.
func OfWrite(subject string, err error) Problem {
	p := Problem{Subject: subject, Err: err, Reason: ReasonWrite}
	if reasoned, ok := errors.AsType[Reasoned](err); ok {
		p.Reason, p.Stalled = reasoned.Reason()
		return p
	}
	switch {
	case errors.As(err, new(*refusal.NameConflictError)):
		p.Reason, p.Stalled = ReasonNameTaken, true
	case IsInvalid(err):
		p.Reason, p.Stalled = ReasonInvalid, true
	case errors.As(err, new(*refusal.NamespaceMissingError)):
		p.Reason = ReasonNamespaceMissing
	case errors.As(err, new(*refusal.TerminatingError)), IsTerminatingNamespace(err):
		p.Reason = ReasonTerminating
	case apierrors.IsForbidden(err):
		p.Reason, p.Stalled = ReasonForbidden, true
	}
	return p
}

// IsInvalid reports whether the content of an object was refused.
func IsInvalid(err error) bool { return errors.As(err, new(*refusal.InvalidError)) }

// IsTerminatingNamespace reports whether the API server refuses to create objects in a namespace that is being deleted.
func IsTerminatingNamespace(err error) bool {
	return apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause)
}

// OfPredicate returns why it is unknown whether the rule selects the parent: spec.parent.when has no value.
func OfPredicate(err error) Problem {
	failed, ok := errors.AsType[*program.MatchError](err)
	switch {
	case !ok:
		return Problem{Subject: "spec.parent.when", Reason: ReasonEvaluation, Stalled: true, Err: err}
	case failed.Verdict == template.Waits:
		return Problem{Subject: failed.Path, Reason: ReasonWaiting, Err: errors.New(failed.Message)}
	}
	return Problem{Subject: failed.Path, Reason: ReasonEvaluation, Stalled: true, Err: errors.New(failed.Message), Advice: failed.Advice}
}

// IsNone reports whether there is no problem.
func (p Problem) IsNone() bool { return p.Err == nil }

// Same reports whether two problems read the same.
func (p Problem) Same(other Problem) bool {
	return p.Reason == other.Reason && p.Stalled == other.Stalled && sameText(p.Err, other.Err)
}

func sameText(a, b error) bool {
	return errors.Is(a, b) || a != nil && b != nil && a.Error() == b.Error()
}

func (p Problem) String() string { return explained(p.Subject, "", p.Err.Error(), p.Advice) }

// explained returns a message about a place in the rule. Its readers can change the parent but not the rule. So what
// the parent lacks comes first, and what the author of the rule can do comes last.
func explained(subject, path, message, advice string) string {
	place := subject
	if path != "" {
		place += ": " + path
	}
	if advice == "" {
		return place + ": " + message
	}
	return strings.TrimPrefix(message, "parent.") + " (" + place + "); the rule's author can " + advice
}

// SubjectFinalize is the subject of problems about what a cleanup waits for.
const SubjectFinalize = "spec.finalize"

// IsEventful reports whether an event follows when the problem may be resolved, or the key is due again at a known
// time, so that no retry is needed before.
func (p Problem) IsEventful() bool {
	switch p.Reason {
	case ReasonWaiting, ReasonEvaluation, ReasonRestless, ReasonContested, ReasonDeleting, ReasonFinalizing,
		ReasonFinalizeTimeout, ReasonLoop, ReasonSelfTriggering, ReasonRecreating:
		return true
	default:
		return p.Elsewhere
	}
}

// IsTransient reports whether the next reconcile resolves the problem, so that nobody needs to read about it.
func (p Problem) IsTransient() bool {
	return errors.As(p.Err, new(*TransientError)) || errors.As(p.Err, new(*refusal.ReplacedError)) ||
		errors.As(p.Err, new(*refusal.OwnerReferenceLostError)) || errors.Is(p.Err, context.Canceled)
}

// IsLogged reports whether the problem must be logged: no condition reports it, and it is not part of normal operation.
func (p Problem) IsLogged() bool {
	isExpected := p.Reason == ReasonTerminating || p.Reason == ReasonNamespaceMissing || errors.Is(p.Err, schemas.ErrNotPublished)
	return !p.Stalled && !p.IsTransient() && !isExpected
}
