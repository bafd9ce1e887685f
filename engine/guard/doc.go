// Package guard decides whether a new revision of a rule may delete what it does not render.
//
// A mistake in a rule can remove all children of all parents at once. So while a revision is new, every parent is reconciled
// once and reports what it would lose; nothing is deleted. Once all have reported, and the losses are within the rule's
// pruneLimit, the guard releases the revision:
//
//	var g guard.Guard
//	g.Begin(revision, queue.Keys{a: true, b: true}, false)
//	g.Decide(revision, a, nil)                    // May: a loses nothing, so what happens to it later is not the revision's doing
//	g.Decide(revision, b, []identity.ID{service}) // not May, but Request: the rule's record is to permit the revision to delete
//	g.Permit(revision)                            // b, which is to be requeued
//	g.Decide(revision, b, []identity.ID{service}) // May
//
// A restart before the permission is recorded begins again, and one after it does not: Begin has an argument for that.
//
// Some losses are never within the limit: a PersistentVolumeClaim, a Namespace or a CustomResourceDefinition takes more with it
// than itself. They, and losses beyond the limit, wait until the author of the rule confirms the revision ([Guard.Confirm]), or
// changes the rule, or deletes parents.
//
// A Guard is a value without client, clock or log. An [Outcome] says what its caller does next.
package guard
