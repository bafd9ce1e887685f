package conditions

import (
	"slices"
)

// Reasons of conditions and Events. Users script against them, so they do not change. IsReason lists them, and so does
// docs/reference/status.md.
const (
	// ReasonReady: everything is up to date and ready.
	ReasonReady = "Ready"
	// ReasonProgressing: everything is up to date, and something is not ready yet.
	ReasonProgressing = "Progressing"
	// ReasonWaiting: something that the rule reads does not exist yet.
	ReasonWaiting = "Waiting"
	// ReasonKindMissing: the cluster does not have the kind of a child, a patch's target
	// or a lookup.
	ReasonKindMissing = "KindMissing"
	// ReasonNamespaceMissing: the namespace of a child does not exist.
	ReasonNamespaceMissing = "NamespaceMissing"
	// ReasonEvaluation: an expression of the rule fails for this parent.
	ReasonEvaluation = "EvaluationFailed"
	// ReasonNameTaken: an object with the name of a child exists, and belongs to somebody else.
	ReasonNameTaken = "NameTaken"
	// ReasonFieldTaken: another rule sets a field of the status to another value.
	ReasonFieldTaken = "FieldTaken"
	// ReasonRestless: a field of the status changes with every evaluation.
	ReasonRestless = "StatusRestless"
	// ReasonInvalid: the API server refuses an object as it is rendered.
	ReasonInvalid = "Invalid"
	// ReasonForbidden: the API server, a policy or a quota does not allow a write.
	ReasonForbidden = "Forbidden"
	// ReasonTerminating: an object with the name of a child, or its namespace, is being deleted.
	ReasonTerminating = "Terminating"
	// ReasonWrite: a write failed, and may succeed later.
	ReasonWrite = "WriteFailed"
	// ReasonContested: others keep changing fields of a child.
	ReasonContested = "Contested"
	// ReasonLoop: rules cause one another, or themselves, to write without end.
	ReasonLoop = "Loop"
	// ReasonSelfTriggering: what rules write has made them write again for long, with a new state each time.
	ReasonSelfTriggering = "SelfTriggering"
	// ReasonNoConditions: the parent's kind cannot take conditions.
	ReasonNoConditions = "NoConditions"
	// ReasonAdopted: an object that existed already has become a child.
	ReasonAdopted = "Adopted"
	// ReasonDeleting: the parent is being deleted, and its children are not deleted yet.
	ReasonDeleting = "Deleting"
	// ReasonChildFailed: a child has failed, and does not become ready as it is.
	ReasonChildFailed = "ChildFailed"
	// ReasonRollout: a rollout waits for an object that has failed.
	ReasonRollout = "RolloutStalled"
	// ReasonRecreating: an object is deleted and recreated.
	ReasonRecreating = "Recreating"
	// ReasonDeleted: deleteWhen had the parent deleted.
	ReasonDeleted = "Deleted"
	// ReasonPruneHeld: a new revision of a rule would delete more objects than pruneLimit allows.
	ReasonPruneHeld = "PruneHeld"
	// ReasonHeld: a patch is not changed until all of its values are known.
	ReasonHeld = "Held"
	// ReasonContradiction: two parents set a field of one object to different values.
	ReasonContradiction = "Contradiction"
	// ReasonFinalizing: the parent is being deleted, and its cleanup is not done.
	ReasonFinalizing = "Finalizing"
	// ReasonFinalizeTimeout: the cleanup takes longer than the rule's timeout.
	ReasonFinalizeTimeout = "FinalizeTimeout"
	// ReasonOrphaned: an object that was a child is kept, and is no longer a child.
	ReasonOrphaned = "Orphaned"
	// ReasonDelete: a child that is no longer rendered cannot be deleted.
	ReasonDelete = "DeleteFailed"
)

// reasons lists every reason.
func reasons() []string {
	return []string{
		ReasonReady,
		ReasonProgressing,
		ReasonWaiting,
		ReasonKindMissing,
		ReasonNamespaceMissing,
		ReasonEvaluation,
		ReasonNameTaken,
		ReasonFieldTaken,
		ReasonRestless,
		ReasonInvalid,
		ReasonForbidden,
		ReasonTerminating,
		ReasonWrite,
		ReasonContested,
		ReasonLoop,
		ReasonSelfTriggering,
		ReasonNoConditions,
		ReasonAdopted,
		ReasonDeleting,
		ReasonChildFailed,
		ReasonRollout,
		ReasonRecreating,
		ReasonDeleted,
		ReasonPruneHeld,
		ReasonHeld,
		ReasonContradiction,
		ReasonFinalizing,
		ReasonFinalizeTimeout,
		ReasonOrphaned,
		ReasonDelete,
	}
}

// IsReason reports whether a word is one of Kanon's reasons.
func IsReason(word string) bool { return slices.Contains(reasons(), word) }
