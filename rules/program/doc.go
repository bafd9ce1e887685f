// Package program is a compiled rule and its evaluation.
//
// A [Program] is the result of the compiler: plain fields, and read-only from then on. An [Evaluation] is one run of it for one parent.
// The caller does all reading and writing:
//
//	ev := compiled.Evaluate(ctx, program.Input{Parent: parent, Now: time.Now(), Reader: reader})
//	for batch := ev.Next(); len(batch) > 0; batch = ev.Next() {
//		for _, node := range batch {
//			live := write(node.Objects) // nil for an object that could not be written
//			ev.Applied(node.Node, live)
//		}
//	}
//	out := ev.Result() // the state of each child, and the status
//
// The children form a graph by what they read of one another. A child is rendered once all that it reads is settled; of a child that
// was written, it reads the live object. Everything else that a rule reads of the cluster, its lookups and what is observed of its
// children, comes from the [Reader], which answers from memory. A lookup is read once in an evaluation, when something first needs it.
//
// What each file does:
//
//   - program.go is the compiled rule, input.go what an evaluation reads, and result.go its results.
//   - evaluation.go has the order of an evaluation, and scope.go resolves names.
//   - render.go renders a child, items.go those of a forEach, and generated.go renders a child again with the values that were
//     generated for it. They exist in the live object only (see rendered/generated.go).
//   - decide.go decides what happens to a rendered object: createWhen, updateWhen, recreateWhen, deletionPolicy.
//   - rollout.go decides which items may be created and updated now.
//   - lookups.go reads the cluster, missing.go handles kinds that it lacks, and ready.go decides when a node is ready.
//   - patches.go, status.go and finalize.go come after all children.
//   - scopes.go is for callers that explain a result afterwards.
//
// run.Clock records whatever depends on now, so that [Result].ReevaluateAt says when the rule must be evaluated again.
//
// What needs no evaluation is in packages of its own:
//
//   - template: how a part of a rule is rendered, and what happens if a value is missing.
//   - rendered: what a rendered object must be, and which values it keeps.
//   - rollout: which items of a list may be created and updated now.
//   - parentstatus: the status, the conditions and the Events of the parent.
package program
