package run

import (
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"

	"kanon.dev/kanon/rules/celenv"
)

// Constant returns the value of a part of the expression that reads no names and is cheap; false for every other part,
// and for one without a value.
func Constant(x *celenv.Expression, e ast.Expr) (ref.Val, bool) {
	for n := range celenv.All(e) {
		if n.Kind() == ast.IdentKind {
			return nil, false
		}
	}
	if !isBounded(e, x.Env().Functions()) {
		return nil, false
	}
	val, err := Value(x, e)
	return val, err == nil && val != nil
}

// Value evaluates a part of the expression that reads no names. It returns the error of the evaluation. If the part
// cannot be planned alone, it returns nil and no error.
func Value(x *celenv.Expression, e ast.Expr) (ref.Val, error) {
	prog, issues := New(x.Part(e), Options{})
	if len(issues) > 0 {
		return nil, nil //nolint:nilnil // It is not a constant.
	}
	return prog.EvalWithin(nil, interpreter.EmptyActivation(), nil) //nolint:staticcheck // Only the cost bounds it.
}
