// Package removal plans the cleanup after a rule that was removed, or that now has another kind of parents. Each parent
// of the old kind is reconciled as one that the rule does not select. A rule without children or status stands in for
// the removed one.
//
// The Planner decides which rules run and which are removed, from the texts (package catalog) and the records of rules
// that ran (package record):
//
//	for _, run := range planner.Runs(catalog, catalog.Rules()) {
//		start(run.Rule, run.Program, run.Removal) // Removal is nil for a rule that runs as written
//	}
//
// Until every source has been read and every text decoded, it is uncertain whether a rule was removed. Until then, it
// is kept.
//
// Whether the children are deleted or stay is the rule's onRuleDeletion, from its record: see [Removal.KeepsChildren].
// Package reconcile acts on it.
//
// A Removal tracks the progress of one cleanup:
//
//	for k := range run.Removal.Begin(parents) {
//		enqueue(k)
//	}
//	// ... a parent was cleaned up:
//	if run.Removal.Done(k) {
//		forget(run.Rule) // it was the last one
//	}
package removal
