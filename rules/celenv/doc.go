// Package celenv parses the expressions of rules, and checks their names and types without schemas. Package check checks
// types by the schemas of kinds.
//
// There is one environment for all rules. It declares the standard functions, the extension libraries of cel-go and of
// Kubernetes, and Kanon's own functions. It is built once and shared, because it is far larger than the expressions.
// The environment parses an expression, lists the names that it reads, and checks names and types:
//
//	env, err := celenv.Shared()
//	...
//	expr, issues := env.Compile("parent.spec.replicas * 2", celenv.Scope{"parent"})
//	...
//	prog, issues := run.New(expr, run.Options{})
//	...
//	val, err := prog.Eval(ctx, vars) // vars resolves the name "parent"
//	...
//	replicas, err := value.ToJSON(val) // int64
//
// Four packages share the work, and imports go one way: run → celenv → function → value.
//
//   - value: JSON as CEL values and back.
//   - function: the functions, with the cost of a call and the size of its result.
//   - celenv: parsing, names and types.
//   - run: programs, and the limits on their cost, time and memory.
//
// run imports celenv, because a program is made of a checked expression.
//
// What each file does:
//
//	env.go         the environment: parses and checks
//	expression.go  an expression that was checked: its type, its names and its parts
//	signatures.go  the signatures of functions, for hints
//	token.go       where a token begins and ends
package celenv
