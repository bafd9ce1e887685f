// Package patching applies what rules set by patches to their targets. Many parents can contribute to one target, and
// none may undo the contribution of another, so no parent writes a target itself.
//
// The reconcile of a parent reports what the parent contributes, and learns whether it is in place. Each target has a
// key of its own. The reconcile of a target merges the contributions of all parents and applies them with one field
// manager:
//
//	patches.Expect(op) // when a rule starts
//	patches.Begin(op, remembered)
//
//	// The reconcile of a parent:
//	problems, awaited := patches.Contribute(ctx, contributor, result.Patches)
//	patches.Reconciled(op, key)
//
//	// The key of a target:
//	out := patches.Reconcile(ctx, op, key, ready)
//
// Before a patch takes a field with another value, that value is recorded in the target, in the annotation
// kanon.dev/taken. When the last patch relinquishes the field, the value is restored. What a patch set that the rule no
// longer has is restored when the rule starts.
//
// What each file does:
//
//	patches.go       the entry point: rules that start and stop, parents that were reconciled or are gone
//	contribute.go    what a parent contributes, from the result of its evaluation
//	contribution.go  what one parent sets by one patch, and what is not known of it
//	ledger.go        what all parents contribute to each target
//	ledgertarget.go  the reconcile of a target: what it collects, and whom its result concerns
//	target.go        the reconcile of a target
//	restore.go       restores what patches set that a rule no longer has
//	part.go          what one parent sets in one target
//	merge.go         the parts of all parents in one, and which contradict one another
//	writer.go        applies a patch to its target
//	known.go         whether a target is as it was written
//	manager.go       which fields belong to which patch
//	previous.go      records the values that a patch replaces
//	returning.go     restores these values
//	sharedlist.go    the list that is shared item by item: the imagePullSecrets of a ServiceAccount
package patching
