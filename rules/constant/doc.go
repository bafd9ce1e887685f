// Package constant evaluates the expressions of a rule that read nothing, when the rule is compiled. They give the same in every
// evaluation. So one that fails, costs too much or gives something that cannot be used is a finding, and so is a constant condition.
//
//	constants := constant.New(rule.Source, limits, reporter)
//	ok := constants.Evaluate(expr, x, at)
//	holds, isConstant := constants.Of(x).Bool()
//
// The limits are those of an evaluation, and what is evaluated at compile time is bounded in total.
package constant
