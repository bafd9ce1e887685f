// Package feedback detects when Kanon's own writes make it write again, without end. There are two cases:
//
//   - A Loop: each write of a rule causes the next one, directly or through other rules, and nobody else is involved.
//     The reconciles continue with a Backoff.
//   - A Conflict: another controller changes a field back each time that Kanon writes it. Kanon leaves the object to it,
//     and tries again with a Backoff.
//
// Loops are detected by the causes of writes. A Tracker knows which versions of an object Kanon wrote, and which
// reconciles led to each: its Provenance. A Chain is what is known of one key, a parent or the target of a patch:
//
//	tracker.Changed(key, feedback.Change{Object: id, Version: version}) // an event
//	// ... the key is reconciled:
//	provenance, wait := tracker.Begin(key, now, longest)
//	if wait > 0 {
//		return requeueAfter(wait)
//	}
//	end := tracker.BeginWrite(key, id, "ConfigMap home/a", provenance, children)
//	// ... the object is written ...
//	tracker.Wrote(key, id, feedback.VersionOf(live))
//	end()
//	if loop := provenance.Loop(); loop != nil {
//		report(loop.Steps)
//	}
//
// A rollout and a state machine are chains of own writes too. chain.go says when a chain counts as a loop.
//
// Chain and Conflicts are what is remembered of one key between two reconciles. Their zero values are ready. Findings are values, of which the engine makes conditions. The package sends nothing and reads no clock.
//
// What each file does:
//
//	tracker.go      the entry point: what changed, which write made which version, which reconcile begins
//	chain.go        what caused the reconciles of one key, and whether they are a loop
//	conflict.go     fields that others change back, and when to leave them alone
//	statuswrite.go  tells a write of a status from other changes
package feedback
