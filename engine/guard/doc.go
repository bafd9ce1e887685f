// Package guard decides whether a new revision of a rule may delete what it does not render.
//
// A mistake in a rule can remove all children of all parents at once. So while a revision is new, every parent is
// reconciled once and reports what it would lose, and nothing is deleted. Once all have reported, and the losses are
// within the rule's pruneLimit, the guard releases the revision:
//
//	g := guard.New(revision)
//	g.Begin(queue.Keys{a: true, b: true}, false)
//	g.Decide(a, nil)                    // May: a loses nothing, so what it loses later is not due to the revision
//	g.Decide(b, []identity.ID{service}) // not May, but Request: record that the revision may delete
//	g.Permit()                          // returns b, which must be requeued
//	g.Decide(b, []identity.ID{service}) // May
//
// If Kanon restarts before the permission is recorded, the guard starts over; after that, Begin is told of the
// permission. An operator has the guard of its revision, which a new operator of the same revision takes over.
//
// Some losses are never within the limit: with a PersistentVolumeClaim, a Namespace or a CustomResourceDefinition, more
// is lost than the object itself. These, and losses beyond the limit, wait until the author of the rule confirms the
// revision ([Guard.Confirm]), changes the rule, or deletes parents.
//
// A Guard is a value without client, clock or log. A [Decision] tells its caller what to do next.
package guard
