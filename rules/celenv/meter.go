package celenv

import (
	"context"
	"fmt"
	"time"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/cel-go/interpreter"
)

// meter counts the cost of one evaluation. cel-go's own tracker has a stack of values that grows with every iteration
// of a loop and is searched at every iteration, so it costs more than the loop itself. The units are close to CEL's:
// one for a call, a literal list or map and an iteration of a loop, and one for every ten bytes of text, or every item
// of a list, that a call returns. Scanning text is free, since time is bounded too; Kanon's own functions, which do
// more with it, charge for what they read (Function.Cost).
type meter struct {
	ctx         context.Context //nolint:containedctx // the context of the call of Eval that the meter is for; may be nil
	budget      *Budget
	cost, limit uint64
	// nextCheck is the cost at which the clock and the context are checked again.
	nextCheck uint64
}

// checkEvery is how many units pass between two checks of the clock. A check takes less time than one unit. In so many
// units, calls that scan a long text for free take some tens of milliseconds.
const checkEvery = 50

// charge adds to the cost. It panics, to end the evaluation, if it costs too much or its time is over; recovered
// catches the panic. There is no other way out of a loop that absorbs errors.
func (m *meter) charge(units uint64) {
	m.cost += units
	switch {
	case m.cost > m.limit:
		panic(stopError{fmt.Errorf("%w of %d", ErrCostLimit, m.limit)})
	case m.budget != nil && m.cost > m.budget.Cost:
		panic(stopError{ErrBudget})
	case m.cost >= m.nextCheck:
		m.checkTime()
	}
}

// checkTime ends the evaluation if its time is over or its context is done.
func (m *meter) checkTime() {
	m.nextCheck = m.cost + checkEvery
	if b := m.budget; b != nil && !b.deadline.IsZero() && time.Now().After(b.deadline) {
		panic(stopError{ErrDeadline})
	}
	if m.ctx != nil && m.ctx.Err() != nil {
		panic(stopError{fmt.Errorf("%w: %w", ErrInterrupted, context.Cause(m.ctx))})
	}
}

// settle subtracts the cost from the budget.
func (m *meter) settle() {
	if m.budget != nil {
		m.budget.Cost -= min(m.cost, m.budget.Cost)
	}
}

// DefaultCostLimit is the maximum cost of one evaluation of one expression: some hundred thousand iterations of a loop.
const DefaultCostLimit = 1_000_000

// meterName is the name by which nodes resolve the meter. No expression can contain it.
const meterName = "@kanon_meter"

// meteredVars has the variables of an evaluation and its meter.
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

// meterCosts makes calls, literals and iterations of loops charge the meter.
func meterCosts(root ast.Expr, env *Env) interpreter.PlannerOption {
	steps := map[int64]bool{}
	for e := range All(root) {
		if e.Kind() == ast.ComprehensionKind {
			steps[e.AsComprehension().LoopStep().ID()] = true
		}
	}
	return decorate(func(i interpreter.InterpretableV2) exec {
		m := metering{units: 1}
		switch n := i.(type) {
		case interpreter.InterpretableCall:
			d := env.declared[n.Function()]
			switch {
			case d.cost == costZone && len(n.Args()) > 1:
				m.units += zoneUnits
			case d.cost == costPattern:
				m.units += patternUnits
			}
			m.slow, m.makes = d.cost != costFree || n.Function() == operators.In, d.result == large
		case interpreter.InterpretableConstructor:
			m.makes = true
		default:
			if !steps[i.ID()] {
				return nil
			}
		}
		return func(frame *interpreter.ExecutionFrame) ref.Val { return m.metered(frame, i.Exec(frame)) }
	})
}

// metering says how a call, a literal or the step of a loop is metered.
type metering struct {
	// units is the cost without that of the result.
	units uint64
	// slow is true for a call that can take long by itself.
	slow bool
	// makes is true if the node makes new values that can be long.
	makes bool
}

// metered charges the meter for a node with its result, which it returns.
func (n metering) metered(frame *interpreter.ExecutionFrame, val ref.Val) ref.Val {
	m := meterOf(frame)
	if m == nil {
		return val
	}
	if n.slow {
		m.checkTime()
	}
	units := n.units
	switch v := val.(type) {
	case types.String:
		units += uint64(len(v)) / BytesPerUnit
	case types.Bytes:
		units += uint64(len(v)) / BytesPerUnit
	case traits.MutableLister: // the accumulator of a loop
	case traits.Lister:
		if size, ok := v.Size().(types.Int); ok {
			units += uint64(max(size, 0))
		}
	}
	m.charge(units)
	if n.makes && m.budget != nil {
		m.budget.Memory.add(MadeBytes(val))
	}
	return val
}

// meterOf returns the meter of an evaluation, or nil.
func meterOf(frame *interpreter.ExecutionFrame) *meter {
	val, _ := frame.ResolveName(meterName)
	m, _ := val.(*meter)
	return m
}

// charge adds to the cost of an evaluation.
func charge(frame *interpreter.ExecutionFrame, units uint64) {
	if m := meterOf(frame); m != nil {
		m.charge(units)
	}
}

// budgetOf returns the budget of an evaluation; nil if it has none.
func budgetOf(frame *interpreter.ExecutionFrame) *Budget {
	if m := meterOf(frame); m != nil {
		return m.budget
	}
	return nil
}

// chargedReads charges calls that process all of their arguments for the length of these, before the call.
func chargedReads(root ast.Expr, env *Env) interpreter.PlannerOption {
	read := chargedArguments(root, env)
	return interpreter.CustomDecoratorV2(func(i interpreter.InterpretableV2) (interpreter.InterpretableV2, error) {
		class, ok := read[i.ID()]
		if !ok {
			return i, nil
		}
		charged := func(frame *interpreter.ExecutionFrame) ref.Val {
			val := i.Exec(frame)
			if units := class.Units(val); units > 0 {
				charge(frame, units)
			}
			return val
		}
		if path, ok := i.(interpreter.InterpretableAttribute); ok {
			return &pathNode{path, charged}, nil
		}
		return &node{i, charged}, nil
	})
}

// chargedArguments returns, by node, the arguments of calls that cost the length of their arguments.
func chargedArguments(root ast.Expr, env *Env) map[int64]CostClass {
	read := map[int64]CostClass{}
	note := func(e ast.Expr, class CostClass) {
		if e.Kind() != ast.LiteralKind { // the length of a literal is fixed, and constant patterns are compiled once
			read[e.ID()] = class
		}
	}
	for e := range All(root) {
		if e.Kind() != ast.CallKind {
			continue
		}
		d := env.declared[e.AsCall().FunctionName()]
		if d.cost == costFree || d.charges {
			continue
		}
		for _, arg := range Operands(e) {
			note(arg, d.cost)
		}
	}
	return read
}

// ownCalls runs the calls of Kanon's own functions. It charges their cost, and records when the values of calls that
// depend on the clock change. moving has the speeds of the arguments of these calls.
func ownCalls(env *Env, moving map[int64][]int) interpreter.PlannerOption {
	return decorateCalls(func(call interpreter.InterpretableCall) exec {
		if fn := env.Own(call.Function()); fn != nil {
			return ownCall(call, fn, moving[call.ID()])
		}
		return nil
	})
}

// ownCall calls one of Kanon's own functions.
func ownCall(call interpreter.InterpretableCall, fn *Function, moving []int) exec {
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
		val := fn.invoke(frame, args)
		if fn.cost != nil {
			charge(frame, fn.cost(args, val))
		}
		if types.IsError(val) {
			return types.LabelErrNode(call.ID(), val)
		}
		if moving != nil && fn.change != nil {
			if in, ok := fn.change(args, moving); ok {
				noteChange(frame, in)
			}
		}
		return val
	}
}
