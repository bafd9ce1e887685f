// Package celenv has the language of expressions: CEL's parser and checker, the values that expressions read and give,
// the functions that they call, and their evaluation within limits. Package check checks types by the schemas of kinds.
//
// There is one environment for all rules. It declares the standard functions, the extension libraries of cel-go and of
// Kubernetes, and Kanon's own functions. It is built once and shared, because it is far larger than the expressions.
//
//	env, err := celenv.Shared()
//	...
//	expr, issues := env.Compile("parent.spec.replicas * 2", celenv.Scope{"parent"})
//	...
//	prog, issues := celenv.NewProgram(expr, celenv.Options{})
//	...
//	val, err := prog.Eval(ctx, vars) // vars resolves the name "parent"
//	...
//	replicas, err := celenv.ToJSON(val) // int64
//
// # Values
//
// JSON is not copied. Adapter wraps map[string]any and []any, which unstructured objects consist of, in values that
// read them in place (json.go). Maps are iterated in the order of their keys, so that the same input gives the same
// bytes. JSON has no bytes: a field with format: byte has base64, which is decoded when an expression reads it.
// render.go converts values to JSON and text.
//
// A CEL value can contain another one many times, so it can be larger than any memory although it was cheap to compute.
// Everything that walks over a value therefore has a bound: CountParts, Occupies and ToJSONWithin stop when it is used
// up (limits.go).
//
// A read of a key that does not exist is a *ReadError with the node of the expression. With it the caller decides by
// the place of the read, and not by the text of an error, whether to wait.
//
// # Functions
//
// A call cannot be interrupted. So each function has a declaration, which bounds a call before it begins: how the time
// grows with the arguments (CostClass), whether the result can be large, the maximum length of a text argument, and a
// check of the arguments. A test compares the declarations with the environment, so that an update of cel-go cannot add
// a function without bounds, or another overload of one (testdata/overloads.txt).
//
//	declare(costReads, large, 0, limitSplit, "split")
//
// This row says that split processes its whole text, that its list can be large, and that limitSplit refuses calls whose
// list would be too long. function.go has the rows, limits.go the checks, and dispatcher.go the libraries in fixed
// versions, and the implementations with what differs from them.
//
// Kanon's own functions are those of text and objects (text.go) and of times (times.go). To add one, write
// it there and into the tables of docs/reference/functions.md. If a call
// depends on the evaluation (the source of random text, the kinds that have a status), the function resolves that
// from the activation, by a name that no expression can contain.
//
// # Evaluation
//
// A Program is a planned expression. Its options come from the checks of the rule: which reads may be missing, which
// comparisons depend on the time, and which reads are times or bytes by their schema. Around the parts of the
// expression, program.go puts operators within bounds and in a fixed order, reads (path.go, json.go), the clock (times.go),
// and the meter. budget.go has that, and three limits, each with errors of its own:
//
//   - Cost. A meter counts calls, iterations of loops, and the length of what a call reads and returns. One expression
//     has a limit (ErrCostLimit); all expressions of an evaluation share a Budget (ErrBudget).
//   - Time. An evaluation ends when the time of its Budget is over (ErrDeadline), or its context is done (ErrInterrupted).
//   - Memory. Memory counts the bytes of values (ErrMemory). Above a small amount it takes them from an Account that all
//     evaluations share (ErrSharedMemory).
package celenv
