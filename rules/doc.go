// Package rules compiles Kanon's rules. It and the packages below it have no client and no log, so a cluster and an offline command
// run the same code. The time is an input (now); package celenv/run reads the wall clock only to limit how long an evaluation takes.
//
// # From text to program
//
// Package syntax reads YAML documents strictly: it reports every field that it does not know. [Compile] checks what can be checked
// before a rule runs, and compiles each ${expression} once. Both return all findings at once, each with its position, down to the
// column inside an expression:
//
//	docs, findings := syntax.Decode("webapp.yaml", data)
//	for _, rule := range slices.Concat(docs.Rules, docs.Partial) {
//		compiled, more := rules.Compile(rule, rules.Options{Kinds: kinds})
//		findings = append(findings, more...)
//		...
//	}
//
// A rule in which syntax.Decode found an error is in docs.Partial: Compile finds its other mistakes and returns no program. Otherwise
// the result is a program.Program, which evaluates itself for a parent.
//
// # What is missing
//
// If an expression reads what does not exist, the origin of the value decides whether the child waits or has failed. Package flow
// follows every value to its origin: children, lookups, observed, self and the parent's status fill in later; everything else does not.
// The text of an error never decides. Within that, CEL's own rules apply: a || b is true if a waits and b is true, and has() and .?
// test without reading. has() differs from CEL in one thing: below an existing child, the parent's status and self, it is false if
// anything on its path is missing, not only the last field.
//
// # Types
//
// cel-go checks and plans each expression without schemas. With [Options].Schemas, package check checks each expression a second time,
// with the types that schemas give to what it reads, and package conform compares templates with the fields that they fill. Two results
// reach the program. The first: an expression that computes with text in the format of a time or a duration reads it as one, and one
// that computes with a field of type number reads it as a double. The second: base64 in a field with format: byte is bytes wherever it
// is read, and base64 again where it is written. So a rule is not compiled before its schemas are read.
//
// If a rule defines its parent's kind, [Inference] completes the definition between syntax.Decode and Compile: the types of the status are
// those of the expressions that set it. It compiles the rule for that, again for each field that depends on another.
//
// # The time
//
// now is part of the input. Package flow follows what is computed from it, and refuses what changes with every second. For the rest, the
// evaluation reports in program.Result.ReevaluateAt when the first value changes, so that the caller can reconcile then.
//
// # The packages and the files
//
// What a rule is:
//
//	diagnostic   what is wrong, and at which position
//	yamltree     YAML with positions
//	scanner      the expressions ${…} in a text
//	naming       which names are valid
//	secrets      values of Secrets in lines that people are shown
//	language     the fields of a rule, for the decoder, editors and documents
//	privilege    kinds and objects that grant rights
//	shortschema  the short form of a kind's schema
//	ignore       the paths of ignore
//	syntax       the decoded rule
//	clash        conflicts between rules
//
// What is checked when it is compiled, each by a package that knows nothing of the compiler:
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
// Their types belong to them: callers import the package that they need. What the files here do:
//
//	compile.go             the order of compilation
//	compile_child.go       children: kind, readiness, forEach
//	compile_template.go    templates
//	compile_field.go       fields of a certain form, such as a duration
//	compile_variable.go    variables
//	compile_lookup.go      lookups
//	compile_patch.go       patches
//	compile_conditions.go  conditions and events
//	compile_deletion.go    deletionPolicy, deleteWhen, finalize
//	compile_update.go      createWhen, updateWhen, recreateWhen, rollout
//	compile_ignore.go      ignore
//	compile_schema.go      the schemas of kinds, for packages check and conform
//	compile_names.go       the names that expressions read, for package flow
//	kinds.go               looks up kinds
//	family.go              the items that children share
//	plaintext.go           text that is meant as an expression
//	infer.go               compiles the status, for package inference
//	adhoc.go               expressions that are no part of the rule
//
// testdata has a case for each behaviour; go test -update rewrites the expected results.
package rules
