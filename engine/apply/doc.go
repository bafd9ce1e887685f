// Package apply brings child objects up to date and tells, without a request, whether they are.
//
// A child is created by POST, because a name that is taken is then refused at once, and changed by forced server-side
// apply with the UID of the object last seen, because an apply without it would create an object that is gone or merge
// over a stranger's. Every write uses the field manager [Manager] and strict field validation.
//
// # The ownership fingerprint
//
// The API server records in managedFields which fields belong to which manager. Whoever else changes or removes a field
// of ours, even when the old value is restored later, takes it out of our entry. A child is therefore in sync exactly
// when
//
//   - the hash of what is rendered equals the one recorded at the last write, in the annotation [AnnotationApplied], and
//   - our entries in managedFields still hold every rendered path.
//
// While the process runs, the second is one comparison with the entries in the answer of the last write. When that fails,
// and after a restart, the cover check walks the rendered paths through our entries (see cover.go for its rules).
// What is not covered is applied: one request too many now and then, never a wrong result.
//
// # Example
//
//	w, err := apply.New(apply.Options{Client: dynamicClient, Schemas: schemas.New(openAPIClient)})
//	...
//	owner := apply.Owner{
//		RuleID: apply.RuleID("kanon-system", "kanon-system", "webapp"),
//		Rule:   "kanon-system/webapp",
//		Node:   "settings",
//		Parent: apply.Ref{Group: "shop.example.com", Kind: "WebApp", Namespace: "team-a", Name: "front", UID: parent.GetUID()},
//	}
//	child, err := w.Prepare(ctx, rendered, owner, metav1.NewControllerRef(parent, parentGVK), apply.Policy{})
//	...
//	result, err := w.Sync(ctx, configMaps, child, cached) // cached: nil when the informer has none
//
// result.Action is then "created", "applied" or "none", and result.Live the newest knowledge of the object. Errors that
// a caller decides on are typed: [NameTakenError], [TerminatingError], [ReplacedError] and [InvalidError], which may
// be due to an [ImmutableError]. Every other
// error is worth another try later.
package apply
