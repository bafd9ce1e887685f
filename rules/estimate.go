package rules

import (
	"kanon.dev/kanon/rules/celenv"
	"kanon.dev/kanon/rules/celenv/run"
)

// checkCost reports an expression that costs more than it may whenever it is
// evaluated.
func (c *compiler) checkCost(x *celenv.Expression, pos Position) {
	if least := run.LeastCost(x); least > c.limits.ExpressionCost {
		c.report(pos, CodeTooCostly, "this costs at least %s each time, and %s are allowed by --max-expression-cost",
			figure(least), figure(c.limits.ExpressionCost)).
			hint("go over shorter lists, or compute a part of it once, in a variable")
	}
}
