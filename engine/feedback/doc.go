// Package feedback notices when what Kanon writes makes it write again, for ever. There are three cases:
//
//   - A Loop: each write of a rule causes the next one, directly or by way of other rules, and nobody else has to do with it.
//     The reconciles go on with a Backoff.
//   - A Conflict: another controller takes a field back each time that Kanon writes it. The object is left to it, and tried
//     again with a Backoff.
//   - A StatusLoop: a rule computes its status from the status that it writes. The status stays as it is until something else
//     changes.
//
// Loops are found by what caused each write. A Tracker knows which version of an object Kanon wrote, and by which reconciles that
// came about: its Provenance. A Chain is what is known of one key, a parent or the target of a patch:
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
// A rollout and a state machine are chains of own writes, too, and end. See progress.go for what tells them from a loop.
//
// Chain, Conflicts and StatusLoop are what is remembered of one key between two reconciles. Their zero values are ready. What is
// found is a value; the engine makes a condition of it. The package sends nothing and reads no clock.
package feedback
