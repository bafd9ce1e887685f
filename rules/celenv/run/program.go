package run

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"

	"kanon.dev/kanon/kinds/openapi"
	"kanon.dev/kanon/rules/celenv"
	"kanon.dev/kanon/rules/celenv/function"
	"kanon.dev/kanon/rules/celenv/value"
)

// Options say how an expression is run. The zero value is usable.
type Options struct {
	// CostLimit is the maximum cost of one evaluation; 0 means DefaultCostLimit.
	CostLimit uint64
	// Absent has, for nodes that are has(…), the nodes below them that may be missing: has() is then false instead of an
	// error.
	Absent map[int64][]int64
	// Moving has the comparisons, and the calls of functions of a time, that depend on the clock, with the speed of each
	// operand: by how many seconds it grows in a second. The Clock under ClockName records when their results change.
	Moving map[int64][]int
	// Conversions has the reads whose values are converted from JSON.
	Conversions map[int64]Conversion
	// Branch, if set, is called with the node of each ?: whose condition was evaluated, and whether it was true.
	Branch func(id int64, holds bool)
	// Encoded has the reads of values in which base64 encodes bytes, with the schemas that say where.
	Encoded map[int64]*openapi.Schema
}

// Program is an expression that can be run. It is immutable and safe for concurrent use.
type Program struct {
	run interpreter.InterpretableV2
	// bounded is true if the expression cannot run long: its cost is not metered and its context not checked.
	bounded bool
	limit   uint64
}

// New plans an expression.
func New(x *celenv.Expression, o Options) (*Program, []celenv.Issue) {
	table, root := x.Env().Functions(), x.Root()
	p := &Program{bounded: isBounded(root, table), limit: o.CostLimit}
	if p.limit == 0 {
		p.limit = DefaultCostLimit
	}
	planner := []interpreter.PlannerOption{
		decorateOptional(),
		ownCalls(table, o.Moving),
		boundEquality(x),
		watchComparisons(o.Moving),
		interpreter.Optimize(),
		function.ConstantPatterns(),
	}
	if p.bounded {
		planner = append(planner, countMade(table))
	} else {
		planner = append(planner, meterCosts(root, table))
	}
	planner = append(planner, orderRanges(root), allowAbsent(o.Absent))
	paths := &factory{AttributeFactory: x.Env().Attributes(), branch: o.Branch}
	var attributes interpreter.AttributeFactory = paths
	if conversions := o.conversions(); len(conversions) > 0 {
		attributes = &convertingFactory{factory: paths, conversions: conversions}
		planner = append(planner, convertedNames(root, conversions))
	}
	if !p.bounded {
		planner = append(planner, chargedReads(root, table))
	}
	var issues []celenv.Issue
	p.run, issues = x.Plan(attributes, planner...)
	if len(issues) > 0 {
		return nil, issues
	}
	return p, nil
}

// Eval runs the program. vars resolves the names in the expression's scope; their values are only read.
//
// The error is a *ReadError for a missing key, the unchanged error of a Members value, ErrCostLimit, ErrInterrupted, or
// an error of CEL.
func (p *Program) Eval(ctx context.Context, vars interpreter.Activation) (ref.Val, error) {
	return p.EvalWithin(ctx, vars, nil)
}

// EvalWithin is Eval within a budget that several evaluations share, with ErrBudget, ErrDeadline, ErrMemory and
// ErrSharedMemory among its errors. An expression that cannot run long costs one unit, and runs even if none is left.
func (p *Program) EvalWithin(ctx context.Context, vars interpreter.Activation, budget *Budget) (val ref.Val, err error) {
	if budget != nil {
		outer := budget.Memory.begin()
		defer func() { budget.Memory.end(val, outer) }()
	}
	defer recovered(&val, &err)
	if p.bounded {
		if budget != nil {
			budget.Cost -= min(budget.Cost, 1)
		}
	} else {
		metered := &meteredVars{Activation: vars, meter: meter{ctx: ctx, budget: budget, limit: p.limit}}
		if budget != nil {
			budget.start()
		}
		metered.meter.checkTime()
		defer metered.meter.settle()
		vars = metered
	}
	frame, err := interpreter.NewExecutionFrame(vars)
	if err != nil {
		return nil, err
	}
	defer frame.Close()
	out := p.run.Exec(frame)
	celErr, ok := out.(*types.Err)
	if !ok {
		return out, nil
	}
	if read, ok := errors.AsType[*value.ReadError](celErr); ok && read.NodeID == 0 {
		labelled := *read
		labelled.NodeID = celErr.NodeID()
		return nil, &labelled
	}
	return nil, celErr
}

// recovered converts a panic to an error: that of a limit, or a bug in CEL.
func recovered(val *ref.Val, err *error) {
	r := recover()
	if r == nil {
		return
	}
	*val = nil
	if e, ok := r.(stopError); ok {
		*err = e.error
		return
	}
	*err = fmt.Errorf("internal error in CEL: %v", r)
}

// unmeteredNodes is how many nodes an expression may have that is not metered: so many calls that scan a long text take
// about a millisecond.
const unmeteredNodes = 100

// isBounded reports whether an expression does so little that its cost cannot come near any limit: it has no loops, few
// nodes, and only functions that take constant time or scan a text once.
func isBounded(root ast.Expr, table *function.Table) bool {
	nodes := 0
	for e := range celenv.All(root) {
		nodes++
		isCostly := e.Kind() == ast.CallKind && !table.Declared(e.AsCall().FunctionName()).Cheap()
		if nodes > unmeteredNodes || isCostly || e.Kind() == ast.ComprehensionKind {
			return false
		}
	}
	return true
}

// allowAbsent makes the has() nodes in absent false if one of their listed nodes is missing.
func allowAbsent(absent map[int64][]int64) interpreter.PlannerOption {
	return decorate(func(i interpreter.InterpretableV2) exec {
		nodes, ok := absent[i.ID()]
		if !ok {
			return nil
		}
		return func(frame *interpreter.ExecutionFrame) ref.Val {
			val := i.Exec(frame)
			celErr, ok := val.(*types.Err)
			if !ok {
				return val
			}
			read, isRead := errors.AsType[*value.ReadError](celErr)
			if errors.Is(celErr.Unwrap(), ErrAbsent) || isRead && read.Reason != value.ReasonType && slices.Contains(nodes, read.NodeID) {
				return types.False
			}
			return val
		}
	})
}
