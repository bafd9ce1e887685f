package conditions

import "slices"

// Reasons of conditions and Events. Users script against them, so they do not change. IsReason lists them, and so does
// docs/reference/status.md.
const (
	ReasonReady            = "Ready"            // everything is up to date and ready
	ReasonProgressing      = "Progressing"      // everything is up to date, and something is not ready yet
	ReasonWaiting          = "Waiting"          // something that the rule reads does not exist yet
	ReasonKindMissing      = "KindMissing"      // the cluster does not have the kind of a child, a patch's target or a lookup
	ReasonNamespaceMissing = "NamespaceMissing" // the namespace of a child does not exist
	ReasonEvaluation       = "EvaluationFailed" // an expression of the rule fails for this parent
	ReasonNameTaken        = "NameTaken"        // an object with the name of a child exists, and belongs to somebody else
	ReasonFieldTaken       = "FieldTaken"       // another rule sets a field of the status to another value
	ReasonInvalid          = "Invalid"          // the API server refuses an object as it is rendered
	ReasonForbidden        = "Forbidden"        // the API server, a policy or a quota does not allow a write
	ReasonTerminating      = "Terminating"      // an object with the name of a child, or its namespace, is being deleted
	ReasonWrite            = "WriteFailed"      // a write failed, and may succeed later
	ReasonContested        = "Contested"        // others keep changing fields of a child
	ReasonLoop             = "Loop"             // rules cause one another, or themselves, to write without end
	ReasonNoConditions     = "NoConditions"     // the parent's kind cannot take conditions
	ReasonAdopted          = "Adopted"          // an object that existed already has become a child
	ReasonDeleting         = "Deleting"         // the parent is being deleted, and its children are not deleted yet
	ReasonChildFailed      = "ChildFailed"      // a child has failed, and does not become ready as it is
	ReasonRollout          = "RolloutStalled"   // a rollout waits for an object that has failed
	ReasonRecreating       = "Recreating"       // an object is deleted and recreated
	ReasonDeleted          = "Deleted"          // deleteWhen had the parent deleted
	ReasonPruneHeld        = "PruneHeld"        // a new revision of a rule would delete more objects than pruneLimit allows
	ReasonHeld             = "Held"             // a patch is not changed until all of its values are known
	ReasonContradiction    = "Contradiction"    // two parents set a field of one object to different values
	ReasonFinalizing       = "Finalizing"       // the parent is being deleted, and its cleanup is not done
	ReasonFinalizeTimeout  = "FinalizeTimeout"  // the cleanup takes longer than the rule's timeout
	ReasonOrphaned         = "Orphaned"         // an object that was a child is kept, and is no longer a child
	ReasonDelete           = "DeleteFailed"     // a child that is no longer rendered cannot be deleted
)

// reasons lists every reason.
func reasons() []string {
	return []string{
		ReasonReady, ReasonProgressing, ReasonWaiting, ReasonKindMissing, ReasonNamespaceMissing, ReasonEvaluation,
		ReasonNameTaken, ReasonFieldTaken, ReasonInvalid, ReasonForbidden, ReasonTerminating,
		ReasonWrite, ReasonContested, ReasonLoop, ReasonNoConditions, ReasonAdopted,
		ReasonDeleting, ReasonChildFailed, ReasonRollout, ReasonRecreating, ReasonDeleted, ReasonPruneHeld, ReasonHeld,
		ReasonContradiction, ReasonFinalizing, ReasonFinalizeTimeout, ReasonOrphaned, ReasonDelete,
	}
}

// IsReason reports whether a word is one of Kanon's reasons.
func IsReason(word string) bool { return slices.Contains(reasons(), word) }
