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
//   - Cost. A meter counts calls, iterations of loops, and the length of what a call reads and returns (meter.go). One expression has a limit (ErrCostLimit); all expressions of an evaluation share a Budget (ErrBudget).
//   - Time. An evaluation ends when the time of its Budget is over (ErrDeadline), or its context is done (ErrInterrupted).
//   - Memory. Memory counts the bytes of values (ErrMemory). Above a small amount it takes them from an Account that all
//     evaluations share (ErrSharedMemory).
//
// A read of a missing key is a *value.ReadError (path.go). A Clock records when a value that depends on the time
// changes, so that the parent can be reconciled then (clock.go).
//
// program.go has a planned expression and its evaluation. Around the parts of the expression, node.go puts the meter
// (meter.go), reads (path.go, conversion.go), the clock (clock.go), and operators within bounds and in a fixed order
// (operators.go). budget.go and memory.go have the limits.
package run
