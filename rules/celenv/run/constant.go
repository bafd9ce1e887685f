package run

import (
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types/ref"

	"kanon.dev/kanon/rules/celenv"
)

// Constant is the value of a part of the expression that reads nothing and does
// little; false for every other part.
func Constant(x *celenv.Expression, e ast.Expr) (ref.Val, bool) {
	if e.Kind() == ast.LiteralKind {
		return e.AsLiteral(), true
	}
	reads := false
	ast.PreOrderVisit(e, ast.NewExprVisitor(func(e ast.Expr) { reads = reads || e.Kind() == ast.IdentKind }))
	if reads || !isBounded(e, x.Env().Functions()) {
		return nil, false
	}
	return ConstantText(x.Env(), x.Source(e))
}

// Value evaluates a part of the expression that reads nothing, within small limits. The error is the error of the
// evaluation; a part that is not constant after all has neither.
func Value(x *celenv.Expression, e ast.Expr) (ref.Val, error) {
	prog := constantProgram(x.Env(), x.Source(e))
	if prog == nil {
		return nil, nil //nolint:nilnil // It is not a constant after all.
	}
	return prog.constant()
}

// ConstantText is the value of a short expression that reads nothing; false for
// every other one.
func ConstantText(env *celenv.Env, text string) (ref.Val, bool) {
	prog := constantProgram(env, text)
	if prog == nil || !prog.bounded {
		return nil, false
	}
	val, err := prog.constant()
	return val, err == nil
}

// constantProgram plans an expression that reads nothing; nil for every other one.
func constantProgram(env *celenv.Env, text string) *Program {
	x, issues := env.Compile(text, nil)
	if len(issues) > 0 {
		return nil
	}
	prog, issues := New(x, Options{})
	if len(issues) > 0 {
		return nil
	}
	return prog
}
