// Package program is a compiled rule and its evaluation.
//
// A [Program] is what the compiler made of a rule: plain fields, and read-only from then on.
// An [Evaluation] is one run of it for one parent. Its caller does all reading and writing:
//
//	ev := compiled.Evaluate(ctx, program.Input{Parent: parent, Now: time.Now(), Reader: reader})
//	for batch := ev.Next(); len(batch) > 0; batch = ev.Next() {
//		for _, node := range batch {
//			live := write(node.Objects) // nil where that failed
//			ev.Applied(node.Node, live)
//		}
//	}
//	out := ev.Outcome() // what became of each child, and the status
//
// The children form a graph by what they read of one another. A child can go when all that it
// reads is settled; what it reads of a child that is written is the live object. What a rule
// reads of the cluster besides, its lookups and what is observed of its children, comes from
// the [Reader], which answers from memory; a lookup is asked for once in an evaluation, when
// something first reads it.
//
// program.go is the compiled rule. evaluation.go is the order of things, and scope.go what
// names mean. render.go renders a child, items.go those of a forEach, and decide.go says what
// is done with what was rendered: createWhen, updateWhen, recreateWhen, deletionPolicy. lookups.go
// reads the cluster, missing.go is about kinds that it does not have, and ready.go says when a
// node is ready. patches.go, status.go and finalize.go come after all children. scopes.go is for
// those who ask afterwards how it came out so. Whatever depends on now is noted by run.Clock, so
// that [Outcome].WakeAt says when the rule must be evaluated again.
//
// What needs nothing of an evaluation is in rooms of its own:
//
//   - template: how a part of a rule is rendered, and what happens if a value is missing.
//   - rendered: what an object must be that a template gave, and which values it keeps.
//   - rollout: which items of a list may be created and updated now.
//   - parentstatus: the status, the conditions and the Events of the parent.
package program
