// Package rules reads Kanon's rules, compiles them and evaluates them. It has
// no client, no log and no clock of its own, so what runs in a cluster and what
// checks a rule on a desk are the same code.
//
// # From text to program
//
// [Decode] reads YAML documents strictly: what it does not know, it reports.
// Every node keeps its position. [Compile] checks what can be checked before a
// rule runs, and compiles each ${expression} once, in the environment of package
// celenv. Both give all findings at once, each with its place, down to the
// column inside an expression:
//
//	docs, findings := syntax.Decode("webapp.yaml", data)
//	for _, rule := range slices.Concat(docs.Rules, docs.Partial) {
//		program, more := rules.Compile(rule, rules.Options{Kinds: kinds})
//		findings = append(findings, more...)
//		...
//	}
//
// A rule in which Decode found an error is in docs.Partial: Compile finds what
// else is wrong with it, and makes no program of it. A [Printer] shows findings
// with their lines, and [DecodeManifest] reads rules out of files as their authors
// keep them.
//
// # Evaluation
//
// A [Program] is immutable. An [Evaluation] is one run of it for one parent,
// and is driven by its caller, who does all reading and writing:
//
//	ev := program.Evaluate(ctx, program.Input{Parent: parent, Now: time.Now()})
//	for batch := ev.Next(); len(batch) > 0; batch = ev.Next() {
//		for _, node := range batch {
//			live := write(node.Objects) // nil where that failed
//			ev.Applied(node.Node, live)
//		}
//	}
//	out := ev.Outcome() // what became of each child, and the status
//
// The children form a graph by what they read of one another. A child can go
// when all that it reads is settled; what it reads of a child that is written is
// the live object.
//
// # What is read besides
//
// What a rule reads of the cluster, its lookups and what is observed of its
// children, comes from the [Reader] of the [Input], which answers from memory. A
// lookup is asked for once in an evaluation, when something first reads it; what its
// own name, namespace and selector read counts as read by its readers (flow/uses.go).
//
// # What is missing
//
// When an expression reads what is not there, it depends on where it reads
// whether the child waits or has failed. The compiler follows every value to
// where it comes from (provenance.go): what comes from children, lookups, observed,
// self or the parent's status fills in later; what comes from anywhere else will not. The
// text of an error is never looked at. Within that, CEL's own rules hold:
// a || b is true when a waits and b is true, and has() and .? ask without
// reading. has() differs from CEL in one thing: below a child that is there, the
// parent's status and self it is false wherever on its path something is missing,
// not only at the end.
//
// # Types
//
// The program of an expression is compiled without schemas, so how a rule runs does
// not depend on them. With [Options].Schemas each expression is looked at a second
// time (typecheck.go), with the types that schemas give to what it reads, and
// templates are compared with the fields that they fill (conform*.go). Two things of
// that go into the program. Text whose format says that it is a time or a
// duration, and that something is computed with, is read as one. Copied, it stays
// the text that it is. And base64 in a field with format: byte is bytes, wherever it is
// read, and is base64 again where it is written (celenv/bytes.go).
//
// # The time
//
// now is part of the input. The compiler follows what is computed from it
// (now.go) and refuses what changes with every second; of the rest, the evaluation
// says when it changes first, in [Outcome].WakeAt, so that the caller can come back
// then.
//
// # The rooms and the files
//
// The packages below this one go from the text to values that the compiler uses:
//
//	diagnostic  what is wrong, and at which position
//	yamltree    YAML with positions
//	syntax      the decoded rule
//	flow        what expressions read, and what that needs
//	celenv      the CEL environment: checking and running expressions
//	readiness   whether an object is ready
//	program     the compiled rule and its evaluation
//
// Their types belong to them: callers import the room that they need. compile*.go make
// programs, with provenance.go, names.go, uses.go, now.go, random.go, unknown.go, graph.go
// and family.go for what expressions read. testdata has a case for each behaviour; go test
// -update rewrites what is wanted.
package rules
