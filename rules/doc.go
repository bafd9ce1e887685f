// Package rules compiles Kanon's rules. With the rooms below it, it has no client, no log and
// no clock of its own, so what runs in a cluster and what checks a rule on a desk are the same
// code.
//
// # From text to program
//
// Package syntax reads YAML documents strictly: what it does not know, it reports. [Compile]
// checks what can be checked before a rule runs, and compiles each ${expression} once. Both give
// all findings at once, each with its place, down to the column inside an expression:
//
//	docs, findings := syntax.Decode("webapp.yaml", data)
//	for _, rule := range slices.Concat(docs.Rules, docs.Partial) {
//		compiled, more := rules.Compile(rule, rules.Options{Kinds: kinds})
//		findings = append(findings, more...)
//		...
//	}
//
// A rule in which syntax.Decode found an error is in docs.Partial: Compile finds what else is
// wrong with it, and makes no program of it. The result is a program.Program, which
// evaluates itself for a parent (package program).
//
// # What is missing
//
// If an expression reads what does not exist, it depends on where it reads whether the child
// waits or has failed. Package flow follows every value to where it comes from: what comes from
// children, lookups, observed, self or the parent's status fills in later; what comes from
// anywhere else will not. The text of an error is never looked at. Within that, CEL's own rules
// apply: a || b is true if a waits and b is true, and has() and .? ask without reading. has()
// differs from CEL in one thing: below a child that exists, the parent's status and self it is
// false wherever on its path something is missing, not only at the end.
//
// # Types
//
// The program of an expression is compiled without schemas, so how a rule runs does not depend
// on them. With [Options].Schemas package check looks at each expression a second time, with the
// types that schemas give to what it reads, and compares templates with the fields that they
// fill. Two things of that go into the program. Text whose format says that it is a time or a
// duration, and that something is computed with, is read as one. And base64 in a field with
// format: byte is bytes, wherever it is read, and is base64 again where it is written.
//
// Where a rule says which fields its parent has, [Inference] completes the definition between Decode and Compile: the types of
// the status are those of the expressions that set it. It compiles the rule for that, as often as one field depends on another.
//
// # The time
//
// now is part of the input. Package flow follows what is computed from it and refuses what
// changes with every second; of the rest, the evaluation says when it changes first, in
// program.Outcome.WakeAt, so that the caller can come back then.
//
// # The rooms and the files
//
// What a rule is:
//
//	diagnostic   what is wrong, and at which position
//	yamltree     YAML with positions
//	scanner      the expressions ${…} in a text
//	naming       which names are valid
//	secrets      values of Secrets in lines that people are shown
//	shortschema  the short form of a kind's schema
//	ignore       the paths of ignore
//	syntax       the decoded rule
//	clash        conflicts between rules
//
// What is checked when it is compiled, each by a room that knows nothing of the compiler:
//
//	reporting    findings, at their positions
//	flow         what expressions read, and what that needs
//	check        the types of expressions
//	conform      templates, ignore and the status against schemas
//	inference    the types of the status
//	identity     which objects its templates are
//	dependency   which child needs which, and what may be skipped
//	immutable    fields and names that cannot follow a change
//	generated    random values that are generated once
//	constant     expressions that read nothing
//	reach        namespaces, rights, and parents that no rule deletes
//	validation   what the API server refuses whatever expressions give
//
// What runs:
//
//	celenv       the CEL environment: checking and running expressions
//	readiness    whether an object is ready
//	program      the compiled rule and its evaluation
//
// Their types belong to them: callers import the room that they need. Here, compile.go is the
// order of things, and compile_*.go compile one part of a rule each: kinds.go looks up its kinds, family.go the items that children
// share, and plaintext.go finds text that was meant as an expression. infer.go compiles the status for package inference, and
// beside.go what is asked of a rule and is no part of it. testdata has a case for each behaviour; go test -update rewrites what is
// wanted.
package rules
