// Package removal plans what is left to do for a rule that was removed, or that has another kind of parents now: each parent of
// the old kind is reconciled as one that the rule does not select. A rule without children or status stands in for the one that
// was removed.
//
// The Planner decides which rules run, and which are removed, from the texts (package catalog) and from the records of rules that
// ran (package record):
//
//	for _, run := range planner.Runs(catalog, catalog.Rules()) {
//		start(run.Rule, run.Program, run.Removal) // Removal is nil for a rule that is to run as it is
//	}
//
// It is in doubt whether a rule was removed until every source was read and every text decoded. Until then it stays.
//
// A Removal says how far that is:
//
//	for k := range run.Removal.Begin(parents) {
//		enqueue(k)
//	}
//	// ... a parent was cleaned up:
//	if run.Removal.Done(k) {
//		forget(run.Rule) // it was the last one
//	}
package removal
