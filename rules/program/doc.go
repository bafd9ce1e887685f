// Package program is a compiled rule and its evaluation.
//
// A [Program] is the result of the compiler: plain fields, and read-only from then on. An [Evaluation] is one run of it for
// one parent. The caller does all reading and writing:
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
// The children form a graph by what they read of one another. A child is rendered once all that it reads is settled; of a
// child that was written, it reads the live object. Everything else that a rule reads of the cluster, its lookups and what is
// observed of its children, comes from the [Reader], which answers from memory, once in an evaluation.
//
// A [Template] is a part of a rule with expressions in it, and an [Expression] is one of them, compiled. They are rendered in
// a [Scope], which resolves names, and within a [Session], which has the remaining budget of one evaluation. A part without a
// value has a [Problem]: it waits for something that will exist later, it fails, or it reads what is skipped. Which of these
// follows from the origin of what the expression reads (Expression.Reads). A message has no value if the rule reads or writes
// Secrets.
//
// What each file does:
//
//   - program.go is the compiled rule, and result.go what an evaluation reads and its results.
//   - template.go renders parts of a rule. problem.go evaluates expressions and says why a part has no value,
//     and session.go has the limits.
//   - evaluation.go has the order of an evaluation, and scope.go resolves names.
//   - render.go renders a child, keeps the values that were generated once, and decides what happens to the object:
//     createWhen, updateWhen, recreateWhen, deletionPolicy. items.go does it for a forEach.
//   - rollout.go decides when a node is ready, and which items may be created and updated now.
//   - lookups.go reads the cluster.
//   - status.go comes after all children: patches, status, conditions, events and finalize.
//   - privilege.go knows which objects grant rights.
package program
