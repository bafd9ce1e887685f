package engine

import (
	"context"
	"errors"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"kanon.dev/kanon/engine/apply"
	"kanon.dev/kanon/rules"
	"kanon.dev/kanon/schemas"
)

// Reasons of conditions and Events. They are part of what users script
// against, so they do not change. Each is in isReason and in docs/rules.md, too.
const (
	// reasonReady: everything is up to date and ready.
	reasonReady = "Ready"
	// reasonProgressing: everything is up to date, and something is not ready yet.
	reasonProgressing = "Progressing"
	// reasonWaiting: something is not there yet that the rule reads.
	reasonWaiting = "Waiting"
	// reasonKindMissing: the cluster does not have the kind of a child, a patch's target
	// or a lookup.
	reasonKindMissing = "KindMissing"
	// reasonNamespaceMissing: the namespace of a child does not exist.
	reasonNamespaceMissing = "NamespaceMissing"
	// reasonEvaluation: an expression of the rule fails for this parent.
	reasonEvaluation = "EvaluationFailed"
	// reasonNameTaken: an object of a child's name exists and is not ours.
	reasonNameTaken = "NameTaken"
	// reasonFieldTaken: another rule says something else in a field of the status.
	reasonFieldTaken = "FieldTaken"
	// reasonRestless: a field of the status changes with every evaluation.
	reasonRestless = "StatusRestless"
	// reasonInvalid: the API server refuses an object as it is rendered.
	reasonInvalid = "Invalid"
	// reasonForbidden: the API server, a policy or a quota does not allow a write.
	reasonForbidden = "Forbidden"
	// reasonTerminating: an object of a child's name, or the namespace, is on its way out.
	reasonTerminating = "Terminating"
	// reasonWrite: a write failed in a way that may pass.
	reasonWrite = "WriteFailed"
	// reasonContested: others keep taking back fields of a child.
	reasonContested = "Contested"
	// reasonLoop: rules cause one another, or themselves, to write for ever.
	reasonLoop = "Loop"
	// reasonNoConditions: the parent's kind cannot take conditions.
	reasonNoConditions = "NoConditions"
	// reasonAdopted: an object that was there already has become a child.
	reasonAdopted = "Adopted"
	// reasonDeleting: the parent is being deleted, and something keeps its children.
	reasonDeleting = "Deleting"
	// reasonChildFailed: a child has failed, and does not become ready as it is.
	reasonChildFailed = "ChildFailed"
	// reasonRollout: a rollout waits for an object that has failed.
	reasonRollout = "RolloutStalled"
	// reasonRecreating: an object is deleted and made anew.
	reasonRecreating = "Recreating"
	// reasonDeleted: deleteWhen had the parent deleted.
	reasonDeleted = "Deleted"
	// reasonPruneHeld: a new revision of a rule would delete more than it may.
	reasonPruneHeld = "PruneHeld"
	// reasonHeld: a patch is left as it is until all is known that it needs.
	reasonHeld = "Held"
	// reasonContradiction: two parents set a field of one object to different values.
	reasonContradiction = "Contradiction"
	// reasonFinalizing: the parent is being deleted, and its cleanup is not done.
	reasonFinalizing = "Finalizing"
	// reasonFinalizeTimeout: that takes longer than the rule allows for.
	reasonFinalizeTimeout = "FinalizeTimeout"
	// reasonOrphaned: an object that was a child stays, and is none any more.
	reasonOrphaned = "Orphaned"
	// reasonDelete: a child that is rendered no more cannot be deleted.
	reasonDelete = "DeleteFailed"
)

// isReason tells whether a word is one that Kanon's own conditions have for a reason.
func isReason(word string) bool {
	switch word {
	case reasonReady, reasonProgressing, reasonWaiting, reasonKindMissing, reasonNamespaceMissing, reasonEvaluation, reasonNameTaken, reasonFieldTaken,
		reasonRestless, reasonInvalid, reasonForbidden, reasonTerminating, reasonWrite, reasonContested, reasonLoop,
		reasonNoConditions, reasonAdopted, reasonDeleting, reasonChildFailed, reasonRollout, reasonRecreating, reasonDeleted,
		reasonPruneHeld, reasonHeld, reasonContradiction, reasonOrphaned, reasonFinalizing,
		reasonFinalizeTimeout, reasonDelete:
		return true
	default:
		return false
	}
}

// problem is one thing in the way of a parent.
type problem struct {
	subject string // what it concerns: a child, a path in the rule, an object
	reason  string
	// stalled is true where nothing will change until somebody changes something.
	stalled bool
	// elsewhere is true where another key sees to it, and wakes the parent.
	elsewhere bool
	err       error
	// advice is what the author of the rule can do about it; may be empty.
	advice string
}

// IsNone tells whether nothing is in the way.
func (p problem) IsNone() bool { return p.err == nil }

// Same tells whether two problems say the same.
func (p problem) Same(other problem) bool {
	return p.reason == other.reason && p.stalled == other.stalled && sameText(p.err, other.err)
}

func (p problem) String() string { return explained(p.subject, "", p.err.Error(), p.advice) }

// explained is what the parent says of a place in the rule. Who reads it can mend the parent, and
// not the rule: so what the parent lacks comes first, and what the author of the rule can do last.
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

// problemOf sorts a failed write into what it means for the parent.
func problemOf(w *write) problem {
	p := problem{subject: "child " + w.node, err: w.err, reason: reasonWrite}
	var (
		taken       *apply.NameTakenError
		invalid     *apply.InvalidError
		terminating *apply.TerminatingError
		contested   *contestedError
	)
	switch {
	case errors.As(w.err, &contested):
		p.reason, p.stalled = reasonContested, true
	case errors.As(w.err, &taken):
		p.reason, p.stalled = reasonNameTaken, true
	case errors.As(w.err, &invalid):
		p.reason, p.stalled = reasonInvalid, true
	case errors.As(w.err, &terminating):
		p.reason = reasonTerminating
	case errors.As(w.err, new(*apply.NamespaceMissingError)):
		p.reason = reasonNamespaceMissing
	case errors.As(w.err, new(*tooSoonError)):
		p.reason = reasonRecreating
	case isTerminatingNamespace(w.err):
		p.reason = reasonTerminating
	case apierrors.IsForbidden(w.err):
		p.reason, p.stalled = reasonForbidden, true
	}
	return p
}

// isTerminatingNamespace tells whether the API server creates nothing in a namespace because it is
// being deleted.
func isTerminatingNamespace(err error) bool {
	return apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause)
}

// problemOfPredicate is why it is not known whether the rule is for the parent.
func problemOfPredicate(err error) problem {
	if wait, ok := errors.AsType[*rules.WaitingError](err); ok {
		return problem{subject: wait.Path, reason: reasonWaiting, err: errors.New(wait.Message)}
	}
	p := problem{subject: "spec.parent.when", reason: reasonEvaluation, stalled: true, err: err}
	if failed, ok := errors.AsType[*rules.EvaluationError](err); ok {
		p.subject, p.err, p.advice = failed.Path, errors.New(failed.Message), failed.Advice
	}
	return p
}

// eventful tells whether an event comes when the problem may be gone, or the key
// comes back by itself, so that there is no need to try before.
func (p problem) eventful() bool {
	switch p.reason {
	case reasonWaiting, reasonEvaluation, reasonRestless, reasonContested, reasonDeleting, reasonFinalizing, reasonFinalizeTimeout, reasonLoop, reasonRecreating:
		return true
	default:
		return p.elsewhere
	}
}

// Passing tells whether a problem is part of the course of things, which the
// next look settles: it is worth neither a log line nor a word to the user.
func (p problem) Passing() bool {
	var replaced *apply.ReplacedError
	return errors.As(p.err, &replaced) || errors.As(p.err, new(*apply.UntiedError)) || errors.As(p.err, new(*heldRecreationError)) || errors.Is(p.err, errNotNow) || errors.Is(p.err, errParentLeaving) || errors.Is(p.err, context.Canceled)
}

// expected tells whether a problem that the user is told of is part of the course
// of things, so that the log need not have it.
func (p problem) expected() bool {
	return p.reason == reasonTerminating || p.reason == reasonNamespaceMissing || errors.Is(p.err, schemas.ErrNotPublished)
}
