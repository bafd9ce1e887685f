package run

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

	"kanon.dev/kanon/rules/celenv"
	"kanon.dev/kanon/rules/celenv/function"
	"kanon.dev/kanon/rules/celenv/value"
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
func meterCosts(root ast.Expr, table *function.Table) interpreter.PlannerOption {
	steps := map[int64]bool{}
	for e := range celenv.All(root) {
		if e.Kind() == ast.ComprehensionKind {
			steps[e.AsComprehension().LoopStep().ID()] = true
		}
	}
	return decorate(func(i interpreter.InterpretableV2) exec {
		m := metering{units: 1}
		switch n := i.(type) {
		case interpreter.InterpretableCall:
			d := table.Declared(n.Function())
			m.units += d.ExtraUnits(len(n.Args()))
			m.slow, m.makes, m.own = !d.Cheap() || n.Function() == operators.In, d.MakesMuch(), table.Own(n.Function()) != nil
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
	// own is true for a call of one of Kanon's own functions.
	own bool
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
		units += uint64(len(v)) / function.BytesPerUnit
	case types.Bytes:
		units += uint64(len(v)) / function.BytesPerUnit
	case traits.MutableLister: // the accumulator of a loop
	case traits.Lister:
		if size, ok := v.Size().(types.Int); ok {
			units += uint64(max(size, 0))
		}
	default:
		if n.own {
			units += value.Entries(val)
		}
	}
	m.charge(units)
	if n.makes && m.budget != nil {
		m.budget.Memory.add(value.MadeBytes(val))
	}
	return val
}

// meterOf returns the meter of an evaluation, or nil.
func meterOf(frame *interpreter.ExecutionFrame) *meter {
	val, _ := frame.ResolveName(meterName)
	m, _ := val.(*meter)
	return m
}

// charge adds to the cost of an evaluation. If the expression is not metered, it subtracts from the budget, unless the
// cost is small.
func charge(frame *interpreter.ExecutionFrame, units uint64) {
	if m := meterOf(frame); m != nil {
		m.charge(units)
		return
	}
	if units < checkEvery {
		return
	}
	if b := budgetOf(frame); b != nil {
		b.spend(units)
	}
}

// budgetOf returns the budget of an evaluation; nil if the activation has none.
func budgetOf(frame *interpreter.ExecutionFrame) *Budget {
	val, _ := frame.ResolveName(BudgetName)
	b, _ := val.(*Budget)
	return b
}

// BudgetName is the name by which expressions whose cost is not metered resolve the *Budget of the evaluation from the
// activation. No expression can contain it.
const BudgetName = "@kanon_budget"

// leastCounted is how many bytes a value must have to be counted in an expression that is not metered. Such an
// expression has few nodes, so smaller values do not matter.
const leastCounted = 1 << 10

// countMade counts the results of calls that can be long in the evaluation's Memory, in an expression whose cost is not
// metered.
func countMade(table *function.Table) interpreter.PlannerOption {
	return decorate(func(i interpreter.InterpretableV2) exec {
		call, ok := i.(interpreter.InterpretableCall)
		if !ok || !table.Declared(call.Function()).MakesLong() {
			return nil
		}
		return func(frame *interpreter.ExecutionFrame) ref.Val {
			val := call.Exec(frame)
			switch v := val.(type) { // a fast path for sums of numbers
			case types.Int, types.Double, *types.Err:
				return val
			case types.String:
				if len(v) < leastCounted {
					return val
				}
			}
			if bytes := value.MadeBytes(val); bytes >= leastCounted {
				if b := budgetOf(frame); b != nil {
					b.Memory.add(bytes)
				}
			}
			return val
		}
	})
}
