// Package apply writes children, and decides without a request whether a write is needed.
//
// A child is created by POST, which is refused at once if the name is taken. It is changed by forced server-side
// apply with the UID of the object last seen: without it, an apply would create an object that is gone, or merge over
// somebody else's. If only values differ, a PUT or a JSON patch does the same for less (amend.go). A child is in sync
// while the hash of what is rendered equals the one in its mark, and our entries in managedFields have every rendered
// path.
//
//	api := server.New(dynamicClient, schemas.New(openAPIClient), hasStatus)
//	w := apply.New(apply.Options{Server: api, Marks: marks, NameOf: nameOf, IsGone: isGone})
//	...
//	owner := mark.Owner{
//		RuleID: mark.RuleID("kanon-system", "kanon-system", "webapp"),
//		Rule:   "kanon-system/webapp",
//		Node:   "settings",
//		Parent: mark.Ref{Group: "shop.example.com", Kind: "WebApp", Namespace: "team-a", Name: "front", UID: parent.GetUID()},
//	}
//	child, err := w.Prepare(ctx, rendered, owner, metav1.NewControllerRef(parent, parentGVK), fieldset.Policy{})
//	...
//	result, err := w.Sync(ctx, configMaps, child, cached) // cached: nil if the informer has none
//
// result.Action is then "created", "applied" or "none", and result.Live the newest known state of the object. Errors
// that callers decide on are typed: [refusal.NameConflictError], [refusal.TerminatingError], [refusal.ReplacedError],
// [refusal.OwnerReferenceLostError] and [refusal.InvalidError], which may wrap a [refusal.ImmutableError]. Every
// other error is worth a retry.
//
// The Writer sends requests and remembers the state in which it left or found an object. It also adds and removes the
// finalizers of parents. Its decisions are made in packages without a client. Imports go one way: apply → server →
// refusal → fieldset → mark.
//
//   - mark: whose child an object is.
//   - fieldset: which fields we own, from managedFields.
//   - refusal: what a refusal by the API server means, and the errors that callers decide on.
//   - reserved: which objects no rule may write.
//   - server: the requests, and the schemas of kinds.
//
// What each file does:
//
//	writer.go          brings a child up to date (Sync), and tells whether it is (InSync)
//	unchanged.go       the same without preparing the child, if nothing has changed
//	child.go           a rendered object with its mark and hashes, ready to be written
//	owner.go           whether an existing object may be written; another rule's is refused (NameConflictError)
//	write.go           creates and applies
//	amend.go           a change of values alone, as a PUT
//	ownership.go       moves fields to our Apply entry before a change of the set of fields
//	ownerreference.go  keeps the owner reference in an apply
//	adopt.go           takes over an object that nobody controls
//	claim.go           marks an object without changing its content
//	orphan.go          orphans a child, and takes it back
//	formermark.go      replaces a mark in an earlier form
//	recreate.go        deletes an object that is to be created again
//	delete.go          deletes
//	finalizer.go       the finalizers of parents
//
// What is written besides children has writers of its own, on the same server: statuswriter writes the statuses of
// parents, and patchwriter, with patchset, what patches set.
package apply
