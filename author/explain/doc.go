// Package explain shows what a rule does: why a field of an object has its value, what an expression evaluates to, and
// how the parts of a rule depend on each other.
//
//	tracer := explain.NewTracer(decoded, compiled, evaluation)   // an evaluation that is done
//	fields, ok := tracer.Child("deployment", object)             // every leaf of the object, in the order of the rule
//	for _, f := range fields {
//		fmt.Println(f.Path, f.Source.Position, f.Source.Expression) // spec.replicas webapp.yaml:44:21 parent.spec.replicas
//	}
//
// The engine stores nothing for this. A [Tracer] walks over the text of a template and its compiled form side by side,
// in the scopes of the evaluation, and renders the parts once more (fieldwalk.go). It evaluates each read of an
// expression separately (inputs.go). Variables, items of a forEach and lookups have a source in turn. [Explain]
// combines that with the live object and its managedFields (owners.go): do they agree, and what will Kanon do
// (verdict.go). An [Explanation] is printed as text, for one field or for all (explaintext.go, blame.go).
//
//	session, err := explain.NewSession(explain.SessionOptions{Rule: rule, Compile: rules.Options{…}, Evaluate: evaluate})
//	result, findings := session.Eval("parent.spec.replicas * 2") // 6 int, cost 2
//
// A [Session] compiles an expression in addition to the rule, and evaluates it in a scope of a finished evaluation: that
// of the rule, or of an item of a child. complete.go completes names by the actual values, help.go shows the
// documentation of functions, and prompt.go reads lines from a terminal or a file.
//
//	g, err := explain.GraphOf(rule)         // a *syntax.Rule without errors
//	err = explain.WriteGraphs(os.Stdout, explain.GraphMermaid, g)
//
// graphrule.go makes the graph from the reads of expressions.
//
// Values read from Secrets, and everything computed from them, are hidden.
package explain
