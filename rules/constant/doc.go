// Package constant evaluates, when a rule is compiled, the expressions that read nothing. They give the same in every evaluation,
// so what fails, costs too much or cannot be used is a finding, and a condition that is always true can be told.
//
//	constants := constant.New(rule.Source, limits, reporter)
//	ok := constants.Evaluate(expr, x, at)
//	holds, isConstant := constants.Of(x).Bool()
//
// The limits are those of an evaluation, and what is evaluated at compile time is bounded in total.
package constant
