// Package patching brings what rules set by patches to their targets. Many parents can contribute to one target, and none may undo
// what another one does there, so no parent writes a target itself.
//
// A reconcile of a parent says what the parent contributes, and learns how that fares. Each target has a key of its own: its
// reconcile puts together what all parents contribute, and applies that by one field manager:
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
// Package contributions is the account of what is contributed, without input or output. What a patch set that a rule has no more
// is restored when the rule starts; see restore.go.
package patching
