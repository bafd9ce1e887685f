package run

import (
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"
)

// decorateOptional makes or and orValue evaluate their second operand only if the first has no value. cel-go does this
// in the program options of its library, which Expression.Plan does not use.
func decorateOptional() interpreter.PlannerOption {
	return decorate(func(i interpreter.InterpretableV2) exec {
		call, ok := i.(interpreter.InterpretableCall)
		if !ok || len(call.Args()) != 2 || call.Function() != "or" && call.Function() != "orValue" {
			return nil
		}
		first, second, unwrap := call.Args()[0], call.Args()[1], call.Function() == "orValue"
		return func(frame *interpreter.ExecutionFrame) ref.Val {
			val := first.Exec(frame)
			if types.IsUnknownOrError(val) {
				return val
			}
			opt, ok := val.(*types.Optional)
			switch {
			case !ok:
				return types.NewErrWithNodeID(call.ID(), "or and orValue are for optional values, such as a.?b or a[?i]; this is %s", val.Type().TypeName())
			case !opt.HasValue():
				return second.Exec(frame)
			case unwrap:
				return opt.GetValue()
			}
			return opt
		}
	})
}
