package celenv

import (
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

// meterName cannot be written in an expression.
const meterName = "@kanon_meter"

// bytesPerUnit is the factor by which CEL weighs text, turned round.
const bytesPerUnit = 10

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
func metered(root ast.Expr, table *Table) interpreter.PlannerOption {
	steps := map[int64]bool{}
	ast.PreOrderVisit(root, ast.NewExprVisitor(func(e ast.Expr) {
		if e.Kind() == ast.ComprehensionKind {
			steps[e.AsComprehension().LoopStep().ID()] = true
		}
	}))
	return interpreter.CustomDecoratorV2(func(i interpreter.InterpretableV2) (interpreter.InterpretableV2, error) {
		switch n := i.(type) {
		case interpreter.InterpretableCall:
			d := table.Declared(n.Function())
			i = &meteredNode{
				InterpretableV2: i, slow: !d.isCheap() || n.Function() == operators.In, makes: d.makesMuch(), units: 1 + d.extraUnits(len(n.Args())),
			}
		case interpreter.InterpretableConstructor:
			i = &meteredNode{InterpretableV2: i, makes: true, units: 1}
		default:
			if steps[i.ID()] {
				i = &meteredNode{InterpretableV2: i, units: 1}
			}
		}
		return i, nil
	})
}

// chargedReads makes calls that work on all of their arguments cost what these are
// long, before they are made.
func chargedReads(root ast.Expr, table *Table) interpreter.PlannerOption {
	read := chargedArguments(root, table)
	return interpreter.CustomDecoratorV2(func(i interpreter.InterpretableV2) (interpreter.InterpretableV2, error) {
		class, ok := read[i.ID()]
		if !ok {
			return i, nil
		}
		if path, ok := i.(interpreter.InterpretableAttribute); ok { // the planner wants it to stay one
			return &readPath{InterpretableAttribute: path, class: class}, nil
		}
		return &readNode{InterpretableV2: i, class: class}, nil
	})
}

// meteredNode is a call, a literal or the step of a loop.
type meteredNode struct {
	interpreter.InterpretableV2
	// units is what it costs whatever comes of it.
	units uint64
	// slow is true for a call that can take long by itself.
	slow bool
	// makes is true for what makes values of its own that can be long.
	makes bool
}

func (n *meteredNode) Eval(vars interpreter.Activation) ref.Val {
	return n.Exec(interpreter.AsFrame(vars))
}

func (n *meteredNode) Exec(frame *interpreter.ExecutionFrame) ref.Val {
	val := n.InterpretableV2.Exec(frame)
	m := meterOf(frame)
	if m == nil {
		return val
	}
	if n.slow {
		m.lookAround()
	}
	units := n.units
	switch v := val.(type) {
	case types.String:
		units += uint64(len(v)) / bytesPerUnit
	case types.Bytes:
		units += uint64(len(v)) / bytesPerUnit
	case *madeMap:
		if _, ok := n.InterpretableV2.(*ownCall); ok {
			units += v.Entries()
		}
	case traits.MutableLister: // what a loop has gathered so far
	case traits.Lister:
		if size, ok := v.Size().(types.Int); ok {
			units += uint64(max(size, 0))
		}
	}
	m.charge(units)
	if n.makes && m.budget != nil {
		m.budget.Memory.add(madeBytes(val))
	}
	return val
}

// meterOf is the meter of an evaluation; nil where it has none.
func meterOf(frame *interpreter.ExecutionFrame) *meter {
	val, _ := frame.ResolveName(meterName)
	m, _ := val.(*meter)
	return m
}

// charge tells the meter of an evaluation what a part of it costs. Where the
// expression is not metered, the budget pays for what costs more than a little.
func charge(frame *interpreter.ExecutionFrame, units uint64) {
	if m := meterOf(frame); m != nil {
		m.charge(units)
		return
	}
	if units < lookEvery {
		return
	}
	if b := budgetOf(frame); b != nil {
		b.spend(units)
	}
}

// budgetOf is the budget of an evaluation; nil where the activation gives none.
func budgetOf(frame *interpreter.ExecutionFrame) *Budget {
	val, _ := frame.ResolveName(BudgetName)
	b, _ := val.(*Budget)
	return b
}
