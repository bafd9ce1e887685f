package conditions

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"kanon.dev/kanon/engine/apply"
	"kanon.dev/kanon/engine/apply/mark"
	"kanon.dev/kanon/engine/queue"
	"kanon.dev/kanon/restmapping/openapi"
	"kanon.dev/kanon/rules/program"
)

// Problem is one thing that blocks a parent.
type Problem struct {
	// Subject is a child, a path in the rule, or an object.
	Subject string
	// Node is the child of the rule that could not be written; empty for any other problem.
	Node   string
	Reason string
	// Stalled is true if the problem lasts until somebody changes something.
	Stalled bool
	// Elsewhere is true if another key handles the problem and then enqueues the parent.
	Elsewhere bool
	Err       error
	// Cause replaces the text of Err where several problems have the same one; empty if their texts must be the same.
	Cause string
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

// OfChild returns the problem of a failed write of a node's object.
func OfChild(node string, err error) Problem {
	p := OfWrite("child "+node, err)
	p.Node = node
	return p
}

// OfWrite returns the problem of a failed write.
func OfWrite(subject string, err error) Problem {
	p := Problem{Subject: subject, Err: err, Reason: ReasonWrite}
	if reasoned, ok := errors.AsType[Reasoned](err); ok {
		p.Reason, p.Stalled = reasoned.Reason()
		return p
	}
	switch {
	case errors.As(err, new(*apply.NameConflictError)):
		p.Reason, p.Stalled = ReasonNameTaken, true
	case IsInvalid(err):
		p.Reason, p.Stalled = ReasonInvalid, true
	case errors.As(err, new(*apply.NamespaceMissingError)):
		missing, _ := errors.AsType[*apply.NamespaceMissingError](err)
		p.Reason, p.Cause = ReasonNamespaceMissing, fmt.Sprintf("namespace %q does not exist", missing.Ref.Namespace)
	case errors.As(err, new(*apply.TerminatingError)), IsTerminatingNamespace(err):
		cause, _ := apierrors.StatusCause(err, corev1.NamespaceTerminatingCause)
		p.Reason, p.Cause = ReasonTerminating, cause.Message
	case apierrors.IsForbidden(err):
		p.Reason, p.Stalled = ReasonForbidden, true
	}
	return p
}

// IsInvalid reports whether the content of an object was refused.
func IsInvalid(err error) bool { return errors.As(err, new(*apply.InvalidError)) }

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
	case failed.Verdict == program.Waits:
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

func (p Problem) String() string { return p.finding().String() }

func (p Problem) finding() finding {
	return finding{places: []string{p.Subject}, message: p.Err.Error(), cause: cmp.Or(p.Cause, p.Err.Error()), advice: p.Advice}
}

// SubjectFinalize is the subject of problems about what a cleanup waits for.
const SubjectFinalize = "spec.finalize"

// Awaits returns the event that follows when the problem may be resolved, so that no retry is needed before; false if
// there is none.
func (p Problem) Awaits() (event queue.Event, ok bool) {
	switch p.Reason {
	case ReasonWaiting, ReasonEvaluation, ReasonFinalizing, ReasonFinalizeTimeout:
		return queue.InputChanges, true
	case ReasonDeleting:
		return queue.ChildEnds, true
	case ReasonContested, ReasonLoop, ReasonRecreating:
		return queue.PauseEnds, true
	default:
		return queue.TargetIsWritten, p.Elsewhere
	}
}

// IsTransient reports whether the next reconcile resolves the problem, so that nobody needs to read about it.
func (p Problem) IsTransient() bool {
	return errors.As(p.Err, new(*TransientError)) || errors.As(p.Err, new(*apply.ReplacedError)) ||
		errors.As(p.Err, new(*apply.OwnerReferenceLostError)) || errors.Is(p.Err, context.Canceled)
}

// IsLogged reports whether the problem must be logged: no condition reports it, and it is not part of normal operation.
func (p Problem) IsLogged() bool {
	isExpected := p.Reason == ReasonTerminating || p.Reason == ReasonNamespaceMissing || errors.Is(p.Err, openapi.ErrNotPublished)
	return !p.Stalled && !p.IsTransient() && !isExpected
}

// BlockedRecreationError reports that an object has to be recreated, and that the guard does not let the rule's
// revision delete it yet.
type BlockedRecreationError struct {
	Object mark.Ref
	Why    string
	// Reported is true if that lasts until somebody acts.
	Reported bool
}

// Unwrap makes the error transient: the next reconcile settles it.
func (e *BlockedRecreationError) Unwrap() error { return errGuardBlocks }

// errGuardBlocks reports that it is not known yet what a new revision of the rule would delete.
var errGuardBlocks = Transient("it is not known yet what the new revision of the rule would delete")

func (e *BlockedRecreationError) Error() string {
	return fmt.Sprintf("%s has to be deleted and recreated: %s; it stays as it is, because the rule's new revision would delete more than it may, "+
		"as the rule says", e.Object, e.Why)
}

// RecreatedRecentlyError reports that an object has to be recreated, but was recreated recently.
type RecreatedRecentlyError struct {
	Object mark.Ref
	Why    string
	// Count is how often in a row it was recreated. At is when it may be recreated again, After from the reconcile on.
	Count int
	At    time.Time
	After time.Duration
}

// Reason implements Reasoned.
func (e *RecreatedRecentlyError) Reason() (reason string, stalled bool) {
	return ReasonRecreating, false
}

func (e *RecreatedRecentlyError) Error() string {
	times := "once"
	if e.Count > 1 {
		times = strconv.Itoa(e.Count) + " times in a row"
	}
	return fmt.Sprintf("%s has to be recreated: %s; it was recreated %s already, and is recreated again at %s",
		e.Object, e.Why, times, e.At.UTC().Format(time.RFC3339))
}

// LostChildError reports that a child is not created for now, because it was deleted soon after it was created, again
// and again.
type LostChildError struct {
	Object mark.Ref
	// Count is how often in a row it was created. After is the rest of the pause.
	Count int
	After time.Duration
}

// Reason implements Reasoned.
func (e *LostChildError) Reason() (reason string, stalled bool) { return ReasonRecreating, false }

func (e *LostChildError) Error() string {
	return fmt.Sprintf("somebody has deleted %s soon after its creation, %d times in a row; Kanon creates it again with growing pauses: "+
		"look in the audit log for who deletes it", e.Object, e.Count)
}
