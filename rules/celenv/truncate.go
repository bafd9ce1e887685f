package celenv

import (
	"time"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
)

func timeFunctions() []*Function {
	return []*Function{{
		name: "truncate", declared: Declaration{cost: costFree},
		signatures: []signature{{
			id: "kanon_truncate", args: []*cel.Type{cel.TimestampType, cel.DurationType}, result: cel.TimestampType,
		}},
		call: truncate, times: []int{0},
		change: func(args []ref.Val, _ []int) (Wait, bool) {
			from, ok := truncate(args).(types.Timestamp)
			if !ok {
				return 0, false
			}
			t, _ := args[0].(types.Timestamp)
			d, _ := args[1].(types.Duration)
			return Wait(from.Time.Add(d.Duration).Sub(t.Time)), true
		},
	}}
}

// truncate rounds a time down to a multiple of a duration since 0001-01-01T00:00:00Z, which was a Monday, as
// time.Time.Truncate does.
func truncate(args []ref.Val) ref.Val {
	t, ok := args[0].(types.Timestamp)
	if !ok {
		return typeError("truncate", 1, "a timestamp", args[0])
	}
	d, ok := args[1].(types.Duration)
	if !ok {
		return typeError("truncate", 2, "a duration", args[1])
	}
	if d.Duration < time.Second {
		return types.NewErr("truncate: the duration must be a second or more, and is %s", DurationText(d))
	}
	return types.Timestamp{Time: t.UTC().Truncate(d.Duration)}
}

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
