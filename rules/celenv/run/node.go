package run

import (
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"
)

// exec runs a node of a planned expression.
type exec func(frame *interpreter.ExecutionFrame) ref.Val

// node is a node that is run by another function than its own.
type node struct {
	interpreter.InterpretableV2

	exec exec
}

func (n *node) Exec(frame *interpreter.ExecutionFrame) ref.Val { return n.exec(frame) }
func (n *node) Eval(vars interpreter.Activation) ref.Val       { return n.exec(interpreter.AsFrame(vars)) }

// callNode is a node that is a call still for the options that follow.
type callNode struct {
	interpreter.InterpretableCall

	exec exec
}

func (n *callNode) Exec(frame *interpreter.ExecutionFrame) ref.Val { return n.exec(frame) }
func (n *callNode) Eval(vars interpreter.Activation) ref.Val {
	return n.exec(interpreter.AsFrame(vars))
}

// pathNode is a node that is a path still for the planner.
type pathNode struct {
	interpreter.InterpretableAttribute

	exec exec
}

func (n *pathNode) Exec(frame *interpreter.ExecutionFrame) ref.Val { return n.exec(frame) }
func (n *pathNode) Eval(vars interpreter.Activation) ref.Val {
	return n.exec(interpreter.AsFrame(vars))
}

// decorate has nodes run by what is given for them; nil: by themselves.
func decorate(by func(i interpreter.InterpretableV2) exec) interpreter.PlannerOption {
	return interpreter.CustomDecoratorV2(func(i interpreter.InterpretableV2) (interpreter.InterpretableV2, error) {
		if run := by(i); run != nil {
			return &node{i, run}, nil
		}
		return i, nil
	})
}

// decorateCalls is decorate for calls.
func decorateCalls(by func(call interpreter.InterpretableCall) exec) interpreter.PlannerOption {
	return interpreter.CustomDecoratorV2(func(i interpreter.InterpretableV2) (interpreter.InterpretableV2, error) {
		if call, ok := i.(interpreter.InterpretableCall); ok {
			if run := by(call); run != nil {
				return &callNode{call, run}, nil
			}
		}
		return i, nil
	})
}

// operandsOf evaluates both operands of a call; an operand without a value is the last of them.
func operandsOf(call interpreter.InterpretableCall, frame *interpreter.ExecutionFrame) (lhs, rhs, failed ref.Val) {
	if lhs = call.Args()[0].Exec(frame); types.IsUnknownOrError(lhs) {
		return nil, nil, lhs
	}
	if rhs = call.Args()[1].Exec(frame); types.IsUnknownOrError(rhs) {
		return nil, nil, rhs
	}
	return lhs, rhs, nil
}
