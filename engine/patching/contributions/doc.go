// Package contributions keeps account of what all parents set by patches: many of them can contribute to one target, and none may
// undo what another one does there. A parent's pass says what the parent contributes; the key of a target (rule, patch, target)
// has a worker put together what all of them do, and apply it:
//
//	book := contributions.New[problem]()
//	book.Expect(revision) // when a rule starts
//	enqueue(book.Begin(revision, parents, nil))
//
//	// A parent's pass:
//	enqueue(book.Set(revision, name, "labels", &contributions.Contribution{Parent: parent, Parts: parts}))
//	problems, awaited := book.Fares(revision, name, "labels")
//	enqueue(book.Reconciled(revision, name))
//
//	// The key of a target:
//	saw, current := book.Collect(revision, key)
//	// ... put saw.Parts together, and apply them
//	enqueue(book.Finish(key, saw, cameTo, nil))
//
// Nothing is taken from a target while it is not known of every parent what it contributes. What a parent contributed as long as
// that was known stays. After a start nothing is known; so a rule's targets are left alone until each of its parents was
// reconciled, which is a wave.
//
// What is called on behalf of a revision that is not the newest has no effect: a pass of an operator that was replaced can end
// late, and what it says is not what the rule says.
//
// A call costs what it is about, one parent or one target, however many others there are:
//
//   - A parent that was never known is one [doubt] of its patch, and not a mark on each
//     target. A target that is worked on meanwhile is blocked, and enqueued once when
//     the doubts end, or when the parent that its problem names is no longer one of them.
//   - What changes during a wave is due at its end, and enqueued once.
//   - A parent that waits for many targets is enqueued when the last was worked on.
//   - What was put together for a target is kept for the next time.
//
// The book does no input or output; the keys that it returns are to be worked on.
package contributions
