// Package fieldset decides from managedFields which fields of an object are ours.
//
// The API server records in managedFields which fields belong to which manager, as sets of paths. Whoever changes or
// removes a field of ours removes it from our entry, even if the old value returns later. So an object is as we wrote
// it exactly while our entries have every path that we rendered. That is the cover check:
//
//	kind, err := fieldset.NewKind(gvk, converter, false)
//	desired, err := fieldset.NewDesired(kind, kind.Normalise(rendered, hasStatus), policy.Ignore)
//	paths, err := desired.TakeShape(&shapes) // the hash of the set of paths
//	...
//	if !desired.Covered(live) {
//		lost := desired.Lost(live) // which paths, and which manager owns them now
//	}
//
// The rest follows from the same sets: the values to replace if only values differ (Replacements), the entries to
// write before an apply that drops fields (EntriesForApply), and what a policy leaves to others.
// Objects of one template share a shape, which caches what depends on the paths alone.
//
// Everything is a function of objects in memory and of the kind's schema, without clients and owners.
//
// What each file does:
//
//	entries.go         the entries of managedFields
//	kind.go            the schema of a kind; normalise.go and validate.go bring a rendered object into its form, but leave
//	                   values such as 1000m to the API server, see engine/apply/amend.go
//	desired.go         a rendered object and the fields that it sets
//	cover.go           the cover check
//	lost.go            which fields others took, and who
//	replacements.go    the values to replace if only values differ; jsonpatch.go has the steps,
//	                   and follows a path into an object
//	move.go            the entries to write before an apply that drops fields
//	ownerreference.go  who owns the owner reference
//	policy.go          what is left to others, such as ignored fields
//	ignore.go          takes ignored fields out of an object; cut.go cuts them out of a set
//	path.go            the paths of ignore
//	shape.go           caches what depends on the paths of a template alone
//	bounded.go         a cache of a limited size
//	hash.go            hashes of values
//	content.go         hashes of what is rendered alone, without marks and the kind's normal form
package fieldset
