// Package rules compiles Kanon's rules. It and the packages below it have no client and no log, so a cluster and an offline
// command run the same code. The time is an input (now).
//
// # From text to program
//
// Package syntax reads YAML documents strictly: it reports every field that it does not know. [Compile] checks what can be
// checked before a rule runs, and compiles each ${expression} once. Both return all findings at once, each with its position,
// down to the column inside an expression:
//
//	docs, findings := syntax.Decode("webapp.yaml", data)
//	for _, rule := range slices.Concat(docs.Rules, docs.Partial) {
//		compiled, more := rules.Compile(rule, rules.Options{Kinds: kinds})
//		findings = append(findings, more...)
//		...
//	}
//
// A rule in which syntax.Decode found an error is in docs.Partial: Compile finds its other mistakes and returns no program.
// Otherwise the result is a program.Program, which evaluates itself for a parent.
//
// # What is missing
//
// If an expression reads what does not exist, the origin of the value decides whether the child waits or has failed. Package
// flow follows every value to its origin: children, lookups, observed, self and the parent's status fill in later; everything
// else does not. The text of an error never decides. Within that, CEL's own rules apply: a || b is true if a waits and b is
// true, and has() and .? test without reading. has() differs from CEL in one thing: below an existing child, the parent's
// status and self, it is false if anything on its path is missing, not only the last field.
//
// # Types
//
// cel-go checks and plans each expression without schemas. With [Options].Schemas, package check checks each expression a
// second time, with the types that schemas give to what it reads, and compares templates with the fields that they fill. Two
// results reach the program: an expression that computes with text in the format of a time or a duration reads it as one,
// and base64 in a field with format: byte is bytes wherever it is read, and base64 again where it is written. So a rule is
// not compiled before its schemas are read.
//
// If a rule defines its parent's kind, [Inference] completes the definition between syntax.Decode and Compile: the types of
// the status are those of the expressions that set it.
//
// # The time
//
// now is part of the input. Package flow follows what is computed from it, and refuses what changes with every second. For
// the rest, the evaluation reports in program.Result.ReevaluateAt when the first value changes.
//
// # The files
//
// compile.go has the order of compilation, and each compile_*.go one part of a rule. What needs the whole rule has a file:
//
//	order.go      which child needs which, and reads of what may be skipped
//	identity.go   which objects the templates are, and random values that are generated once
//	immutable.go  fields and names that cannot follow a change
//	constant.go   expressions that read nothing
//	infer.go      the types of the status
//	clash.go      conflicts between rules
//	kinds.go      kinds and their schemas, and what a rule may reach
//	adhoc.go      expressions that are no part of a rule
//
// testdata has a case for each behaviour; go test -update rewrites the expected results.
package rules
