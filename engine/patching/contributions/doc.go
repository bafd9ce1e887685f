// Package contributions keeps account of what all parents set by patches. Many parents can contribute to one target,
// and none may undo the contribution of another. The reconcile of a parent reports what the parent contributes. The
// reconcile of a target, whose key is (rule, patch, target), merges and applies the contributions of all parents:
//
//	book := contributions.New()
//	book.Expect(revision) // when a rule starts
//	enqueue(book.Begin(revision, parents, nil))
//
//	// The reconcile of a parent:
//	enqueue(book.Set(revision, name, "labels", &contributions.Contribution{Parent: parent, Parts: parts}))
//	problems, awaited := book.ProblemsOf(revision, name, "labels")
//	enqueue(book.Reconciled(revision, name))
//
//	// The reconcile of a target:
//	saw, current := book.Collect(revision, key)
//	// ... merge saw.Parts, and apply them
//	enqueue(book.Finish(key, saw, cameTo, nil))
//
// Nothing is removed from a target while the contributions of some parent are unknown. While they are unknown, the
// ones that were known before stay. After the start of a rule nothing is known, so its targets are not written until
// each of its parents was reconciled once. That period is called a wave.
//
// Calls on behalf of a revision that is not the newest have no effect: a reconcile of a replaced operator can end
// late, and what it reports is outdated.
//
// A call costs as much as the one parent or target that it is about, however many others exist:
//
//   - If it is not known what a parent contributes, its patch notes a [doubt]; its targets are not touched. A target that is
//     reconciled while there are doubts waits. It is enqueued when they have ended, or when what the parent contributes that
//     its problem names is known.
//   - What changes during a wave is enqueued once, at the end of the wave.
//   - A parent that waits for several targets is enqueued when the last of them was reconciled.
//   - The merged parts of a target are kept for the next reconcile.
//
// The book does no input or output; the caller enqueues the keys that it returns.
//
// What each file does:
//
//	book.go          the entry point: what rules and parents report, and the keys to enqueue
//	contribution.go  what one parent sets in one target
//	ledger.go        the account of one patch: its parents, targets and the wave
//	target.go        what is known of one target
//	doubt.go         parents whose contributions are not known
//	collect.go       what a target is to have, and the result of its reconcile
package contributions
