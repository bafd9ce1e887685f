// Package fieldset decides from managedFields which fields of an object are ours.
//
// The API server records in managedFields which fields belong to which manager, as sets of paths. Whoever else changes
// or removes a field of ours takes it out of our entry, even where the old value returns later. So an object is as we
// wrote it exactly while our entries hold every path that we rendered. That is the cover check:
//
//	kind, err := fieldset.NewKind(gvk, converter, false)
//	desired, err := fieldset.NewDesired(kind, kind.Normalise(rendered, hasStatus), policy.Ignore)
//	paths, err := desired.TakeShape(&shapes) // the hash of the set of paths
//	...
//	if !desired.Covered(live) {
//		lost := desired.Lost(live) // which paths, and which manager has them now
//	}
//
// The rest follows from the same sets: the values to replace where only values differ (Replacements), the entries to
// write before an apply that drops fields (EntriesForApply), and what a policy leaves to others (ignore.go, cut.go).
// Objects of one template have one Shape, which remembers what depends on the paths alone.
//
// Everything is a function of objects in memory and of the kind's schema. There is no client here, and no owner.
package fieldset
