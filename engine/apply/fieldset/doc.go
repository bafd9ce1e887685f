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
// write before an apply that drops fields (EntriesForApply), and what a policy leaves to others (ignore.go, cut.go).
// Objects of one template share a shape, which caches what depends on the paths alone (shape.go).
//
// Everything is a function of objects in memory and of the kind's schema, without clients and owners.
package fieldset
