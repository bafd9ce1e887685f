// Package apply writes children, and decides without a request whether a write is needed.
//
// A child is created by POST, because a name that exists is then refused at once. It is changed by forced server-side
// apply with the UID of the object last seen: an apply without it would create an object that is gone, or merge over a
// stranger's. Where only values differ, a PUT or a JSON patch does the same for less (amend.go). A child is in sync while
// the hash of what is rendered equals the one in its mark, and our entries in managedFields hold every rendered path.
//
//	w, err := apply.New(apply.Options{Server: server.New(dynamicClient, schemas.New(openAPIClient), nil), Marks: marks})
//	...
//	owner := mark.Owner{
//		RuleID: mark.RuleID("kanon-system", "kanon-system", "webapp"),
//		Rule:   "kanon-system/webapp",
//		Node:   "settings",
//		Parent: mark.Ref{Group: "shop.example.com", Kind: "WebApp", Namespace: "team-a", Name: "front", UID: parent.GetUID()},
//	}
//	child, err := w.Prepare(ctx, rendered, owner, metav1.NewControllerRef(parent, parentGVK), fieldset.Policy{})
//	...
//	result, err := w.Sync(ctx, configMaps, child, cached) // cached: nil when the informer has none
//
// result.Action is then "created", "applied" or "none", and result.Live the newest known state of the object. Errors that
// a caller decides on are typed: [refusal.NameConflictError], [refusal.TerminatingError], [refusal.ReplacedError], [refusal.OwnerReferenceLostError] and
// [refusal.InvalidError], which may be due to an [refusal.ImmutableError]. Every other error is worth another try.
//
// The Writer sends requests and remembers the state in which it left or found an object. It adds and removes the finalizers of
// parents, too. What it decides by stands in rooms without a client, and imports go one way: apply → server → refusal → fieldset → mark.
//
//   - mark: whose an object is.
//   - fieldset: which fields we hold, from managedFields.
//   - refusal: what the API server means when it refuses a write, and the errors that a caller decides on.
//   - reserved: which objects no rule may write.
//   - server: the requests, and the schemas of kinds.
//
// writer.go has Sync, and whether a child is in sync; unchanged.go sees that nothing has changed without preparing the child (child.go).
// write.go creates and applies. A change of values alone is a PUT (amend.go); a change of the set of fields moves ownership first
// (ownership.go), and an apply keeps the ownerReference (ownerreference.go). owner.go says whose an object is that exists already:
// adopt.go takes over a free one, claim.go marks one whose content stays as it is, orphan.go orphans one and takes it back, and
// formermark.go replaces a mark of an earlier form. recreate.go and delete.go delete; finalizer.go is about parents.
//
// What is written besides children has writers of its own, on the same server: statuswriter the statuses of parents, and patchwriter,
// with patchset, what patches set.
package apply
