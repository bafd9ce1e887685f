// Package console evaluates expressions that somebody asks, with the names, functions, types and limits that the expressions of a rule
// have.
//
//	session, err := console.New(console.Options{Rule: rule, Compile: rules.Options{Kinds: kinds, Schemas: kinds}, Evaluate: evaluate})
//	result, findings := session.Eval("parent.spec.replicas * 2")
//	fmt.Println(result.Value, result.Type, result.Cost)       // 6 int 2
//	result, findings = session.Eval("http://${parent.metadata.name}:${string(parent.spec.port)}")
//
// A [Session] compiles what is asked beside the rule (rules.CompileBeside), and evaluates it in a scope of an evaluation that is done: that
// of the rule, or of an item of a child (session.go). complete.go finds what can follow at a place of a line, by the values that there
// are, help.go what the documentation says of a function, and prompt.go reads lines from a terminal or from a file.
//
// What is read from Secrets is not shown, and neither is what is computed from it.
package console
