// Package feedback detects when Kanon's own writes make it write again, without end. There are three cases:
//
//   - A Loop: each write of a rule causes the next one, directly or through other rules, and nobody else is involved.
//     The reconciles continue with a Backoff.
//   - A Conflict: another controller changes a field back each time that Kanon writes it. Kanon leaves the object to it,
//     and tries again with a Backoff.
//   - A StatusLoop: a rule computes its status from the status that it writes. The status is left as it is until
//     something else changes.
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
//	tracker.Wrote(key, provenance, live, feedback.VersionOf(live))
//	end()
//	if loop := provenance.Loop(); loop != nil {
//		report(loop.Steps)
//	}
//
// A rollout and a state machine are chains of own writes too, but they make progress. progress.go says what distinguishes
// them from a loop, and what happens if they go on for long.
//
// Chain, Conflicts and StatusLoop are what is remembered of one key between two reconciles. Their zero values are
// ready. Findings are values, of which the engine makes conditions. The package sends nothing and reads no clock.
//
// What each file does:
//
//	tracker.go     the entry point: what changed, what is written, which reconcile begins
//	writes.go      which write made which version of an object, and which writes are under way
//	chain.go       what caused the last reconciles of one key, and whether they are a loop
//	provenance.go  the writes that led to a reconcile
//	loop.go        the steps of a loop, and its pauses
//	progress.go    what distinguishes progress from a loop
//	digest.go      tells whether a state of an object came before
//	conflict.go    fields that others change back, and when to leave them alone
//	leaves.go      which fields of a value changed
//	statusloop.go  a status that a rule computes from itself
//	inputs.go      what an evaluation read besides the status
//	ownstatus.go   whether only rules changed a status
package feedback
