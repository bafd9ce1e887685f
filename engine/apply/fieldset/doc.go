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
// The rest follows from the same sets: the values to replace if only values differ (WithValues), the entries to
// write before an apply that drops fields (EntriesForApply), and what a policy leaves to others.
// Objects of one template share a shape, which caches what depends on the paths alone.
//
// Everything is a function of objects in memory and of the kind's schema, without clients and owners.
//
// What each file does:
//
//	entries.go       the entries of managedFields
//	kind.go          the schema of a kind
//	normalise.go     brings a rendered object into the form in which it is written; values such as 1000m stay as they are
//	validate.go      whether it fits the schema
//	desired.go       a rendered object, how it is treated, and who owns its owner reference
//	cover.go         the cover check; which fields others took, and who
//	replacements.go  the values to replace if only values differ
//	jsonpatch.go     the steps of a JSON patch; follows a path into an object
//	move.go          the entries to write before an apply that drops fields
//	ignore.go        takes ignored fields out of an object
//	path.go          the paths of ignore
//	shape.go         caches what depends on the paths of a template alone
//	hash.go          hashes of values
//	content.go       hashes of what is rendered alone, without marks and the kind's normal form
package fieldset
