package run

import (
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"

	"kanon.dev/kanon/rules/celenv/function"
)

// ownCalls runs the calls of Kanon's own functions. It charges their cost, and records when the values of calls that
// depend on the clock change. moving has the speeds of the arguments of these calls.
func ownCalls(table *function.Table, moving map[int64][]int) interpreter.PlannerOption {
	return interpreter.CustomDecoratorV2(func(i interpreter.InterpretableV2) (interpreter.InterpretableV2, error) {
		call, ok := i.(interpreter.InterpretableCall)
		if !ok {
			return i, nil
		}
		fn := table.Own(call.Function())
		if fn == nil {
			return i, nil
		}
		if val, err := function.ConstantCron(call); err != nil || val != nil {
			return val, err
		}
		return &callNode{call, ownCall(call, fn, moving[call.ID()])}, nil
	})
}

// ownCall calls one of Kanon's own functions.
func ownCall(call interpreter.InterpretableCall, fn *function.Function, moving []int) exec {
	return func(frame *interpreter.ExecutionFrame) ref.Val {
		nodes := call.Args()
		args := make([]ref.Val, len(nodes))
		for i, node := range nodes {
			val := node.Exec(frame)
			if types.IsUnknownOrError(val) {
				return val
			}
			args[i] = val
		}
		val := fn.Call(frame, args)
		if units := fn.Cost(args, val); units > 0 {
			charge(frame, units)
		}
		if types.IsError(val) {
			return types.LabelErrNode(call.ID(), val)
		}
		if moving != nil {
			if in, ok := fn.ChangesIn(args, moving); ok {
				noteChange(frame, in)
			}
		}
		return val
	}
}
