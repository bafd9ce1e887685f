// Package run evaluates expressions within limits.
//
// A Program is a planned expression. Its options come from the checks of the rule: which reads may be missing, which
// comparisons depend on the time, and which reads are times or bytes by their schema.
//
//	prog, issues := run.New(expr, run.Options{CostLimit: 1_000_000})
//	...
//	budget := run.Budget{Cost: 10_000_000, Time: time.Second, Memory: run.Memory{Limit: 64 << 20}}
//	val, err := prog.EvalWithin(ctx, vars, &budget)
//
// There are three limits, each with errors of its own:
//
//   - Cost. A meter counts calls, iterations of loops, and the length of what a call reads and returns (meter.go,
//     charge.go). One expression has a limit (ErrCostLimit); all expressions of an evaluation share a Budget (ErrBudget).
//     An expression that cannot run long, without loops and with cheap functions only, is not metered and costs one unit.
//   - Time. An evaluation ends when the time of its Budget is over (ErrDeadline), or its context is done (ErrInterrupted).
//   - Memory. Memory counts the bytes of values (ErrMemory). Above a small amount it takes them from an Account that all
//     evaluations share (ErrSharedMemory).
//
// A read of a missing key is a *value.ReadError (path.go). A Clock records when a value that depends on the time
// changes, so that the parent can be reconciled then (clock.go).
//
// What each file does:
//
//	program.go     a planned expression, and its evaluation
//	budget.go      the limits that the expressions of one evaluation share
//	meter.go       counts the cost; charge.go charges arguments and results
//	leastcost.go   the least cost of an expression, known before it runs
//	memory.go      counts the bytes of values
//	clock.go       now, and when a value that depends on it changes
//	path.go        reads of fields, and reads of what does not exist
//	optional.go    optional values
//	conversion.go  times and bytes that schemas tell of
//	equality.go    comparisons within bounds
//	order.go       loops over maps in the order of their keys
//	call.go        calls of own functions
//	node.go        puts all of this around the parts of a planned expression
//	constant.go    the value of an expression that reads nothing
package run
