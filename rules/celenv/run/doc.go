// Package run evaluates expressions within limits.
//
// A Program is a planned expression. Its options are what the checks of a rule know of it: which reads may be missing,
// which comparisons depend on the time, and which reads are times or bytes by their schema.
//
//	prog, issues := run.New(expr, run.Options{CostLimit: 1_000_000})
//	...
//	budget := run.Budget{Cost: 10_000_000, Time: time.Second, Memory: run.Memory{Limit: 64 << 20}}
//	val, err := prog.EvalWithin(ctx, vars, &budget)
//
// Three limits hold, and each has an error of its own:
//
//   - Cost. A meter counts calls, turns of loops and what a call reads or makes (meter.go, charge.go). One expression
//     has a limit (ErrCostLimit); all expressions of an evaluation share a Budget (ErrBudget). An expression that cannot
//     run long, without loops and with cheap functions only, is not metered and takes one unit.
//   - Time. A Budget ends when its time is over (ErrDeadline), the evaluation when its context is done (ErrInterrupted).
//   - Memory. Memory counts the bytes that values hold (ErrMemory), and takes what is more than a little from an Account
//     that all evaluations share (ErrSharedMemory).
//
// A read of what does not exist is a *value.ReadError (path.go). A Clock learns when a value that depends on the time
// changes, so that the parent can be reconciled then (clock.go).
package run
