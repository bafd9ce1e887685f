package celenv

import (
	"errors"
	"fmt"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/cel-go/interpreter"
)

// DefaultCostLimit is how much one evaluation of one expression may cost:
// enough to go some hundred thousand times round a loop.
const DefaultCostLimit = 1_000_000

// ErrCostLimit is what an evaluation ends with that costs more than the limit.
var ErrCostLimit = errors.New("the expression costs more than the limit")

// meter counts what one evaluation costs. cel-go's own tracker keeps a stack
// of values that grows with every turn of a loop and is searched at every turn,
// so that it costs more than the loop does. The units are near to CEL's: one
// for a call, a literal list or map and a turn of a loop, and one for every ten bytes of text, or
// every item of a list, that a call makes. Text that is only looked at costs
// nothing, since the context bounds the time; Kanon's own functions, which
// do more with it, charge for what they read (functions.go).
type meter struct {
	cost, limit uint64
}

// meterName cannot be written in an expression.
const meterName = "@kanon_meter"

// bytesPerUnit is the factor by which CEL weighs text, turned round.
const bytesPerUnit = 10

// charge ends the evaluation when it has become too costly. The panic is
// caught where the evaluation starts; there is no other way out of a loop that
// absorbs errors.
func (m *meter) charge(units uint64) {
	m.cost += units
	if m.cost > m.limit {
		panic(overLimitError{limit: m.limit})
	}
}

type overLimitError struct{ limit uint64 }

func (e overLimitError) Error() string { return fmt.Sprintf("%v of %d", ErrCostLimit, e.limit) }
func (e overLimitError) Unwrap() error { return ErrCostLimit }

// meteredVars are the variables of an evaluation together with its meter.
type meteredVars struct {
	interpreter.Activation
	meter meter
}

// ResolveName implements interpreter.Activation.
func (v *meteredVars) ResolveName(name string) (any, bool) {
	if name == meterName {
		return &v.meter, true
	}
	return v.Activation.ResolveName(name)
}

// metered makes calls, literals and the turns of loops tell the meter what they
// cost.
func metered(root ast.Expr) interpreter.PlannerOption {
	steps := map[int64]bool{}
	ast.PreOrderVisit(root, ast.NewExprVisitor(func(e ast.Expr) {
		if e.Kind() == ast.ComprehensionKind {
			steps[e.AsComprehension().LoopStep().ID()] = true
		}
	}))
	return interpreter.CustomDecoratorV2(func(i interpreter.InterpretableV2) (interpreter.InterpretableV2, error) {
		switch n := i.(type) {
		case interpreter.InterpretableCall:
			return &meteredNode{InterpretableV2: i, sized: n.Function() != operators.Add}, nil
		case interpreter.InterpretableConstructor:
			return &meteredNode{InterpretableV2: i}, nil
		}
		if steps[i.ID()] {
			return &meteredNode{InterpretableV2: i}, nil
		}
		return i, nil
	})
}

// meteredNode is a call, a literal or the step of a loop.
type meteredNode struct {
	interpreter.InterpretableV2
	// sized is true where a list that comes out is new. What + gives in a loop
	// is the list so far.
	sized bool
}

func (n *meteredNode) Eval(vars interpreter.Activation) ref.Val {
	return n.Exec(interpreter.AsFrame(vars))
}

func (n *meteredNode) Exec(frame *interpreter.ExecutionFrame) ref.Val {
	val := n.InterpretableV2.Exec(frame)
	units := uint64(1)
	switch v := val.(type) {
	case types.String:
		units += uint64(len(v)) / bytesPerUnit
	case types.Bytes:
		units += uint64(len(v)) / bytesPerUnit
	case *madeMap:
		if _, ok := n.InterpretableV2.(*ownCall); ok {
			units += v.entries
		}
	case traits.Lister:
		if size, ok := v.Size().(types.Int); ok && n.sized {
			units += uint64(max(size, 0))
		}
	}
	charge(frame, units)
	return val
}

// charge tells the meter of an evaluation, where it has one.
func charge(frame *interpreter.ExecutionFrame, units uint64) {
	if m, ok := frame.ResolveName(meterName); ok {
		if m, ok := m.(*meter); ok {
			m.charge(units)
		}
	}
}
