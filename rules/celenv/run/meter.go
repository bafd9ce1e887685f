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

// meter counts what one evaluation costs. cel-go's own tracker keeps a stack
// of values that grows with every turn of a loop and is searched at every turn,
// so that it costs more than the loop does. The units are near to CEL's: one
// for a call, a literal list or map and a turn of a loop, and one for every ten
// bytes of text, or every item of a list, that a call makes. Text that is only
// scanned costs nothing, since time is bounded too; Kanon's own functions, which
// do more with it, charge for what they read (functions.go).
type meter struct {
	ctx         context.Context //nolint:containedctx // Of the call of Eval that the meter is for; nil: it does not end.
	budget      *Budget
	cost, limit uint64
	// nextCheck is the cost at which to check the clock and the context again.
	nextCheck uint64
}

// checkEvery is how many units go by between two checks of the clock, which takes
// less time than one: for as many, calls that scan a long text without a charge
// take some tens of milliseconds.
const checkEvery = 50

// charge ends the evaluation when it has become too costly, or when its time is
// over. The panic is caught where the evaluation starts; there is no other way out
// of a loop that absorbs errors.
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

// checkTime ends the evaluation when its time is over.
func (m *meter) checkTime() {
	m.nextCheck = m.cost + checkEvery
	if b := m.budget; b != nil && !b.deadline.IsZero() && time.Now().After(b.deadline) {
		panic(stopError{ErrDeadline})
	}
	if m.ctx != nil && m.ctx.Err() != nil {
		panic(stopError{fmt.Errorf("%w: %w", ErrInterrupted, context.Cause(m.ctx))})
	}
}

// settle takes what was spent out of the budget.
func (m *meter) settle() {
	if m.budget != nil {
		m.budget.Cost -= min(m.cost, m.budget.Cost)
	}
}

// DefaultCostLimit is how much one evaluation of one expression may cost:
// enough to go some hundred thousand times round a loop.
const DefaultCostLimit = 1_000_000

// meterName cannot be written in an expression.
const meterName = "@kanon_meter"

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

// meterCosts makes calls, literals and the turns of loops tell the meter what they
// cost.
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

// metering is how a call, a literal or the step of a loop is metered.
type metering struct {
	// units is what it costs whatever comes of it.
	units uint64
	// slow is true for a call that can take long by itself.
	slow bool
	// makes is true for what makes values of its own that can be long.
	makes bool
	// own is true for a call of one of Kanon's own functions.
	own bool
}

// metered tells the meter what came of a node, and gives it.
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
	case traits.MutableLister: // what a loop has gathered so far
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
	if units < checkEvery {
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

// BudgetName is the name under which an activation gives the *Budget of the
// evaluation to expressions whose cost is not metered. It cannot be written in an
// expression.
const BudgetName = "@kanon_budget"

// noticed is how long a text must be for an expression that is not metered to count
// it: it has few nodes.
const leastCounted = 1 << 10

// countMade makes the calls that can make long values tell the evaluation's Memory, in
// an expression whose cost is not metered.
func countMade(table *function.Table) interpreter.PlannerOption {
	return decorate(func(i interpreter.InterpretableV2) exec {
		call, ok := i.(interpreter.InterpretableCall)
		if !ok || !table.Declared(call.Function()).MakesLong() {
			return nil
		}
		return func(frame *interpreter.ExecutionFrame) ref.Val {
			val := call.Exec(frame)
			switch v := val.(type) { // what a sum of numbers is stays fast
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
