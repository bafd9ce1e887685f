package run

import (
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"
)

// decorateOptional makes or and orValue evaluate their second operand only when
// the first has no value. cel-go does this in the program options of its
// library, which the shared machine does not go through.
func decorateOptional(i interpreter.InterpretableV2) (interpreter.InterpretableV2, error) {
	call, ok := i.(interpreter.InterpretableCall)
	if !ok || len(call.Args()) != 2 {
		return i, nil
	}
	switch call.Function() {
	case "or":
		return &lazyOr{id: call.ID(), first: call.Args()[0], second: call.Args()[1]}, nil
	case "orValue":
		return &lazyOr{id: call.ID(), first: call.Args()[0], second: call.Args()[1], unwrap: true}, nil
	}
	return i, nil
}

// lazyOr is a.or(b), and a.orValue(b) when it unwraps.
type lazyOr struct {
	id            int64
	first, second interpreter.InterpretableV2
	unwrap        bool
}

func (o *lazyOr) ID() int64 { return o.id }

func (o *lazyOr) Eval(vars interpreter.Activation) ref.Val {
	return o.Exec(interpreter.AsFrame(vars))
}

func (o *lazyOr) Exec(frame *interpreter.ExecutionFrame) ref.Val {
	val := o.first.Exec(frame)
	if types.IsUnknownOrError(val) {
		return val
	}
	opt, ok := val.(*types.Optional)
	switch {
	case !ok:
		return types.NewErrWithNodeID(o.id, "or and orValue are for optional values, such as a.?b or a[?i]; this is %s", val.Type().TypeName())
	case !opt.HasValue():
		return o.second.Exec(frame)
	case o.unwrap:
		return opt.GetValue()
	}
	return opt
}
