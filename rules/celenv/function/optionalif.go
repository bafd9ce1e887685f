package function

import (
	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
)

// optionalIfMacro declares optionalIf(cond, value): optional.of(value) if cond is true, else optional.none(). It is a
// macro, so that value is not evaluated if cond is false.
func optionalIfMacro() cel.Macro {
	return cel.GlobalVarArgMacro("optionalIf",
		func(f cel.MacroExprFactory, _ ast.Expr, args []ast.Expr) (ast.Expr, *cel.Error) {
			if len(args) != 2 {
				at := int64(0)
				if len(args) > 0 {
					at = args[0].ID()
				}
				return nil, f.NewError(at, "optionalIf takes a condition and a value: optionalIf(cond, value)")
			}
			return f.NewCall(operators.Conditional, args[0],
				f.NewCall("optional.of", args[1]),
				f.NewCall("optional.none")), nil
		})
}
