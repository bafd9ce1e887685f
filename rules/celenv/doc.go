// Package celenv is the CEL environment in which the expressions of rules are
// checked and run.
//
// There is one environment for all rules: what it declares (the standard
// functions, cel-go's extension libraries and Kubernetes' own) and the plan
// that finds the functions at run time are built once and shared, because they
// are far larger than the expressions. A compiled expression holds its own
// instructions and nothing else.
//
// Data stays as it is: map[string]any and []any, as unstructured objects hold
// them, are read in place and never copied. Maps are iterated in the order of
// their keys, so that the same input gives the same bytes. A key that is not
// there is a *ReadError that names the node of the expression that asked for
// it, which is what lets the caller decide by place, and not by the text of an
// error, whether to wait.
//
//	env, err := celenv.Shared()
//	...
//	expr, issues := env.Compile("parent.spec.replicas * 2", celenv.Scope{"parent"})
//	...
//	prog, err := expr.Program(celenv.ProgramOptions{})
//	...
//	val, err := prog.Eval(ctx, vars) // vars resolves the name "parent"
//	...
//	replicas, err := celenv.ToJSON(val) // int64
//
// Kanon's own functions stand in a file for each family; functions.go declares
// them and runs their calls. clock.go is how an expression that reads now tells
// when its value changes.
package celenv
