package run

import (
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"
)

// exec runs a node of a planned expression.
type exec func(frame *interpreter.ExecutionFrame) ref.Val

// node is a planned node that runs another function than its own.
type node struct {
	interpreter.InterpretableV2

	exec exec
}

func (n *node) Exec(frame *interpreter.ExecutionFrame) ref.Val { return n.exec(frame) }
func (n *node) Eval(vars interpreter.Activation) ref.Val       { return n.exec(interpreter.AsFrame(vars)) }

// callNode is a node that later planner options still see as a call.
type callNode struct {
	interpreter.InterpretableCall

	exec exec
}

func (n *callNode) Exec(frame *interpreter.ExecutionFrame) ref.Val { return n.exec(frame) }
func (n *callNode) Eval(vars interpreter.Activation) ref.Val {
	return n.exec(interpreter.AsFrame(vars))
}

// pathNode is a node that the planner still sees as a path.
type pathNode struct {
	interpreter.InterpretableAttribute

	exec exec
}

func (n *pathNode) Exec(frame *interpreter.ExecutionFrame) ref.Val { return n.exec(frame) }
func (n *pathNode) Eval(vars interpreter.Activation) ref.Val {
	return n.exec(interpreter.AsFrame(vars))
}

// decorate replaces the nodes for which by returns a function.
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

// operandsOf evaluates both operands of a call. failed is the first operand that is an error or unknown.
func operandsOf(call interpreter.InterpretableCall, frame *interpreter.ExecutionFrame) (lhs, rhs, failed ref.Val) {
	if lhs = call.Args()[0].Exec(frame); types.IsUnknownOrError(lhs) {
		return nil, nil, lhs
	}
	if rhs = call.Args()[1].Exec(frame); types.IsUnknownOrError(rhs) {
		return nil, nil, rhs
	}
	return lhs, rhs, nil
}
