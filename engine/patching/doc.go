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
//	problems, awaited := patches.Contribute(ctx, contributor, outcome.Patches)
//	patches.Reconciled(op, key)
//
//	// The key of a target:
//	out := patches.Reconcile(ctx, op, key, ready)
//
// Package contributions keeps account of all contributions, and package apply/patchset merges them. What a patch set that
// the rule no longer has is restored when the rule starts.
//
// What each file does:
//
//	patches.go     the entry point: rules that start and stop, parents that were reconciled or are gone
//	contribute.go  what a parent contributes, from the result of its evaluation
//	target.go      the reconcile of a target
//	restore.go     restores what patches set that a rule no longer has
package patching
