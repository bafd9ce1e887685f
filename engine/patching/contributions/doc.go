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
//   - A parent whose contributions were never known is one [doubt] of its patch, and not a mark on each target. A target that
//     is reconciled meanwhile is blocked. It is enqueued once the doubts end, or when its problem names a parent that is no
//     longer in doubt.
//   - What changes during a wave is enqueued once, at the end of the wave.
//   - A parent that waits for several targets is enqueued when the last of them was reconciled.
//   - The merged parts of a target are kept for the next reconcile.
//
// The book does no input or output; the caller enqueues the keys that it returns.
package contributions
