package rules

import (
	"kanon.dev/kanon/rules/celenv"
	"kanon.dev/kanon/rules/celenv/run"
	"kanon.dev/kanon/rules/diagnostic"
)

// checkCost reports an expression that costs more than it may whenever it is
// evaluated.
func (c *compiler) checkCost(x *celenv.Expression, pos diagnostic.Position) {
	if least := run.LeastCost(x); least > c.limits.ExpressionCost {
		c.report(pos, diagnostic.CodeTooCostly, "this costs at least %s each time, and %s are allowed by --max-expression-cost",
			diagnostic.Number(least), diagnostic.Number(c.limits.ExpressionCost)).
			WithHint("go over shorter lists, or compute a part of it once, in a variable")
	}
}
