// Package apply writes children and the statuses of parents, and decides without a request whether a write is needed.
//
// A child is created by POST, which is refused at once if the name is taken. It is changed by forced server-side
// apply with the UID of the object last seen: without it, an apply would create an object that is gone, or merge over
// somebody else's. If only values differ, a PUT does the same for less (put.go). A child is in sync while the hash of
// what is rendered equals the one in its mark, and our entries in managedFields have every rendered path.
//
//	api := apply.NewAPI(dynamicClient, schemas.New(openAPIClient), hasStatus)
//	w := apply.New(apply.Options{Server: api, Marks: marks, NameOf: nameOf, IsGone: isGone})
//	...
//	wanted := apply.Wanted{GVR: configMaps, Object: rendered, Owner: owner, Controller: metav1.NewControllerRef(parent, parentGVK)}
//	if w.Compare(ctx, wanted, apply.SeenAs(cached)) == apply.InSync {
//		return
//	}
//	child, err := w.Prepare(ctx, wanted)
//	...
//	result, err := w.Sync(ctx, child, cached) // cached: nil if the informer has none
//
// result.Action is then "created", "applied" or "none", and result.Live the newest known state of the object. Errors
// that callers decide on are typed (errors.go): [NameConflictError], [TerminatingError], [ReplacedError],
// [OwnerReferenceLostError] and [InvalidError], which may wrap an [ImmutableError]. Every other error is worth a retry.
//
// The Writer sends requests and remembers the state in which it left or found an object. It also adds and removes the
// finalizers of parents. Package mark decides whose child an object is, and package fieldset, from managedFields, which
// fields we own.
//
// What each file does:
//
//	writer.go      creates a child and brings it up to date (Sync, Ensure)
//	compare.go     whether a child has to be written (Compare)
//	child.go       a rendered object with its mark and hashes, ready to be written
//	owner.go       whether an existing object may be written; another rule's is refused (NameConflictError)
//	put.go         a change of values alone, as a PUT
//	apply.go       an apply: moves fields to our Apply entry before it, and keeps the owner reference
//	adopt.go       takes over an object that nobody controls
//	claim.go       marks an object without changing its content
//	orphan.go      orphans a child, and takes it back
//	recreate.go    deletes an object that is to be created again
//	delete.go      deletes
//	finalizer.go   the finalizers of parents
//	reserved.go    which objects no rule may write
//	status.go      writes what one manager sets in the status of an object (StatusWriter)
//	status*.go     whether it is in place; which fields it leaves to others; values that no longer fit the schema
//	server.go      the requests; schemas.go has the schemas of kinds
//	refusal.go     what a refusal by the API server means; errors.go has the resulting errors
package apply
