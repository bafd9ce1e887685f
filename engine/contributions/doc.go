// Package contributions keeps account of what all parents set by patches: many of them
// can contribute to one target, and none may undo what another one does there. A parent's
// pass says what the parent contributes; the key of a target (rule, patch, target) has a
// worker put together what all of them do, and apply it:
//
//	book := contributions.New[problem]()
//	wake(book.Begin(revision, parents, nil)) // when a rule starts
//
//	// A parent's pass:
//	wake(book.Set(key, "labels", &contributions.Contribution{UID: uid, Parts: parts}))
//	wake(book.Looked(key))
//
//	// The key of a target:
//	saw, current := book.Collect(revision, key)
//	// ... put saw.Parts together, and apply them
//	wake(book.Finish(key, saw, cameTo, nil))
//
// Nothing is taken from a target while it is not known of every parent what it
// contributes. What a parent contributed as long as that was known stays. After a
// start nothing is known; so a rule's targets are left alone until each of its parents
// was looked at, which is a wave.
//
// The book does no input or output; the keys that it returns are to be worked on.
package contributions
