// Package apply writes children, patches and statuses, and decides without a request whether a write is needed.
//
// A child is created by POST, because a name that exists is then refused at once. It is changed by forced server-side
// apply with the UID of the object last seen: an apply without it would create an object that is gone, or merge over a
// stranger's. Where only values differ, a PUT or a JSON patch does the same for less (amend.go). A child is in sync while
// the hash of what is rendered equals the one in its mark, and our entries in managedFields hold every rendered path.
//
//	w, err := apply.New(apply.Options{Client: dynamicClient, Schemas: schemas.New(openAPIClient), Marks: marks})
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
// a caller decides on are typed: [NameConflictError], [TerminatingError], [ReplacedError], [OwnerReferenceLostError] and
// [InvalidError], which may be due to an [ImmutableError]. Every other error is worth another try.
//
// The Writer sends requests and remembers the state in which it left or found an object. What it decides by stands in
// rooms without a client, and imports go one way: apply → patchset → fieldset → mark.
//
//   - mark: whose an object is.
//   - fieldset: which fields we hold, from managedFields.
//   - patchset: what patches set together, and what was there before.
//   - refusal: what the API server means when it refuses a write.
package apply
