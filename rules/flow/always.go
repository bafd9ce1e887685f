package flow

import (
	"slices"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
)

// AlwaysReads reports whether an expression has no value without a field of observed.<id>. It is false for a part that
// may not be evaluated.
func AlwaysReads(e ast.Expr, id string) bool {
	switch e.Kind() {
	case ast.SelectKind:
		if e.AsSelect().IsTestOnly() {
			return false
		}
		return isObserved(e.AsSelect().Operand(), id) || AlwaysReads(e.AsSelect().Operand(), id)
	case ast.CallKind:
		if e.AsCall().FunctionName() == operators.Index && isObserved(e.AsCall().Args()[0], id) {
			return true
		}
		return anyAlwaysReads(evaluated(e.AsCall()), id)
	case ast.ListKind:
		return anyAlwaysReads(e.AsList().Elements(), id)
	case ast.ComprehensionKind:
		return AlwaysReads(e.AsComprehension().IterRange(), id)
	default:
		return false
	}
}

// anyAlwaysReads reports whether AlwaysReads is true for one of several expressions.
func anyAlwaysReads(all []ast.Expr, id string) bool {
	return slices.ContainsFunc(all, func(e ast.Expr) bool { return AlwaysReads(e, id) })
}

// evaluated lists the operands that a call always needs.
func evaluated(call ast.CallExpr) []ast.Expr {
	switch name := call.FunctionName(); {
	case name == operators.Conditional, isStep(name):
		return call.Args()[:1]
	case name == operators.LogicalAnd, name == operators.LogicalOr:
		return nil // one side can do without the other
	case call.IsMemberFunction() && (name == "orValue" || name == "or"):
		return []ast.Expr{call.Target()}
	case call.IsMemberFunction():
		return append([]ast.Expr{call.Target()}, call.Args()...)
	default:
		return call.Args()
	}
}
