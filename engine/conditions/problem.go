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
)

// Problem is one thing that stands in the way of a parent.
type Problem struct {
	// Subject is what it is about: a child, a path in the rule, an object.
	Subject string
	Reason  string
	// Stalled is true if nothing changes until somebody changes something.
	Stalled bool
	// Elsewhere is true if another key handles it, and enqueues the parent.
	Elsewhere bool
	Err       error
	// Advice is what the author of the rule can do about it; may be empty.
	Advice string
}

// Reasoned is an error that has its own reason.
type Reasoned interface {
	error
	// Reason is the reason of the condition, and whether nothing changes until somebody changes something.
	Reason() (reason string, stalled bool)
}

// TransientError says why something cannot be done at this moment. The next reconcile follows by itself and settles it, so
// neither the log nor a condition has it. Compare with errors.Is.
type TransientError struct{ text string }

// Transient makes a TransientError.
func Transient(text string) *TransientError { return &TransientError{text: text} }

func (e *TransientError) Error() string { return e.text }

// OfWrite sorts a failed write into what it means for the parent.
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

// IsInvalid tells whether the content of an object was refused.
func IsInvalid(err error) bool { return errors.As(err, new(*refusal.InvalidError)) }

// IsTerminatingNamespace tells whether the API server creates nothing in a namespace because that is being deleted.
func IsTerminatingNamespace(err error) bool {
	return apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause)
}

// OfPredicate is why it is not known whether the rule selects the parent: spec.parent.when has no value.
func OfPredicate(err error) Problem {
	failed, ok := errors.AsType[*program.MatchError](err)
	switch {
	case !ok:
		return Problem{Subject: "spec.parent.when", Reason: ReasonEvaluation, Stalled: true, Err: err}
	case failed.Waits:
		return Problem{Subject: failed.Path, Reason: ReasonWaiting, Err: errors.New(failed.Message)}
	}
	return Problem{Subject: failed.Path, Reason: ReasonEvaluation, Stalled: true, Err: errors.New(failed.Message), Advice: failed.Advice}
}

// IsNone tells whether nothing is in the way.
func (p Problem) IsNone() bool { return p.Err == nil }

// Same tells whether two problems read the same.
func (p Problem) Same(other Problem) bool {
	return p.Reason == other.Reason && p.Stalled == other.Stalled && sameText(p.Err, other.Err)
}

func sameText(a, b error) bool {
	return errors.Is(a, b) || a != nil && b != nil && a.Error() == b.Error()
}

func (p Problem) String() string { return explained(p.Subject, "", p.Err.Error(), p.Advice) }

// explained is a message about a place in the rule. Whoever reads it can change the parent, and not the rule: so what the
// parent lacks comes first, and what the author of the rule can do comes last.
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

// SubjectFinalize is the subject of what a cleanup waits for.
const SubjectFinalize = "spec.finalize"

// IsEventful tells whether an event follows when the problem may be gone, or the key is due again at a known time, so that
// nothing has to be tried before.
func (p Problem) IsEventful() bool {
	switch p.Reason {
	case ReasonWaiting, ReasonEvaluation, ReasonRestless, ReasonContested, ReasonDeleting, ReasonFinalizing,
		ReasonFinalizeTimeout, ReasonLoop, ReasonRecreating:
		return true
	default:
		return p.Elsewhere
	}
}

// IsTransient tells whether the next reconcile settles the problem: nobody has to read of it.
func (p Problem) IsTransient() bool {
	return errors.As(p.Err, new(*TransientError)) || errors.As(p.Err, new(*refusal.ReplacedError)) ||
		errors.As(p.Err, new(*refusal.OwnerReferenceLostError)) || errors.Is(p.Err, context.Canceled)
}

// IsLogged tells whether the log has to have the problem: no condition says it, and it is not in the normal course of things.
func (p Problem) IsLogged() bool {
	isExpected := p.Reason == ReasonTerminating || p.Reason == ReasonNamespaceMissing || errors.Is(p.Err, schemas.ErrNotPublished)
	return !p.Stalled && !p.IsTransient() && !isExpected
}
