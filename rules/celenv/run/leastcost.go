package run

import (
	"math"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"

	"kanon.dev/kanon/rules/celenv"
)

// LeastCost returns a lower bound of the cost of one evaluation that has a value, in units of the meter. It counts
// loops whose number of iterations is known. cel-go's estimate is in other units, and does not know lists.range.
func LeastCost(x *celenv.Expression) uint64 { return leastCost(x.Root()) }

// estimate is the least cost of an expression, and the least length of its value if that is a list.
type estimate struct{ cost, length uint64 }

func leastCost(e ast.Expr) uint64 { return estimateOf(e).cost }

func estimateOf(e ast.Expr) estimate {
	switch e.Kind() {
	case ast.CallKind:
		return estimateCall(e.AsCall())
	case ast.ComprehensionKind:
		return estimateLoop(e.AsComprehension())
	case ast.ListKind:
		out := estimate{}
		list := e.AsList()
		for _, item := range list.Elements() {
			out.cost = plus(out.cost, leastCost(item))
		}
		out.length = uint64(len(list.Elements()) - len(list.OptionalIndices())) //nolint:gosec // There are not more of them.
		return out
	default:
		out := estimate{}
		for _, operand := range celenv.Operands(e) {
			out.cost = plus(out.cost, leastCost(operand))
		}
		return out
	}
}

func estimateCall(call ast.CallExpr) estimate {
	args := call.Args()
	switch call.FunctionName() {
	case operators.LogicalAnd, operators.LogicalOr:
		// Either side alone can decide; both are evaluated if one has no value.
		return estimate{cost: min(leastCost(args[0]), leastCost(args[1]))}
	case operators.Conditional:
		yes, no := estimateOf(args[1]), estimateOf(args[2])
		return estimate{cost: plus(leastCost(args[0]), min(yes.cost, no.cost)), length: min(yes.length, no.length)}
	case "or", "orValue", operators.OptSelect, operators.OptIndex:
		return estimate{}
	}
	out := estimate{}
	if call.IsMemberFunction() {
		out.cost = leastCost(call.Target())
	}
	for _, arg := range args {
		out.cost = plus(out.cost, leastCost(arg))
	}
	if call.FunctionName() == "lists.range" && len(args) == 1 && args[0].Kind() == ast.LiteralKind {
		if n, ok := args[0].AsLiteral().(types.Int); ok && n > 0 {
			out.length = uint64(n)
			out.cost = plus(out.cost, out.length)
		}
	}
	return out
}

// estimateLoop counts the iterations of a loop that always visits its whole range.
func estimateLoop(loop ast.ComprehensionExpr) estimate {
	over := estimateOf(loop.IterRange())
	turns := over.length
	if goesOn := loop.LoopCondition(); goesOn.Kind() != ast.LiteralKind || goesOn.AsLiteral() != types.True {
		turns = 0
	}
	step := loop.LoopStep()
	out := estimate{cost: plus(over.cost, times(turns, plus(1, leastCost(step))))}
	if isAppend(step, loop.AccuVar()) {
		out.length = turns
	}
	if result := loop.Result(); result.Kind() != ast.IdentKind {
		return estimate{cost: plus(out.cost, leastCost(result))}
	}
	return out
}

// isAppend reports whether each iteration of a loop appends to its accumulator.
func isAppend(step ast.Expr, gathered string) bool {
	if step.Kind() != ast.CallKind || step.AsCall().FunctionName() != operators.Add {
		return false
	}
	args := step.AsCall().Args()
	return args[0].Kind() == ast.IdentKind && args[0].AsIdent() == gathered && args[1].Kind() == ast.ListKind
}

func plus(a, b uint64) uint64 {
	if a > math.MaxUint64-b {
		return math.MaxUint64
	}
	return a + b
}

func times(a, b uint64) uint64 {
	if a > 0 && b > math.MaxUint64/a {
		return math.MaxUint64
	}
	return a * b
}
