// Package console evaluates expressions interactively, with the names, functions, types and limits of a rule's
// expressions.
//
//	session, err := console.New(console.Options{Rule: rule, Compile: rules.Options{Kinds: kinds, Schemas: kinds}, Evaluate: evaluate})
//	result, findings := session.Eval("parent.spec.replicas * 2")
//	fmt.Println(result.Value, result.Type, result.Cost)       // 6 int 2
//	result, findings = session.Eval("http://${parent.metadata.name}:${string(parent.spec.port)}")
//
// A [Session] compiles an expression in addition to the rule (rules.NewAdHocCompiler), and evaluates it in a scope of a
// finished evaluation: that of the rule, or of an item of a child (session.go). complete.go completes names by the
// actual values, help.go shows the documentation of functions, and prompt.go reads lines from a terminal or a file.
//
// Values read from Secrets, and everything computed from them, are hidden.
package console
