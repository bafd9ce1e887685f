package celenv

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"
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
	// Conversions has the reads, by node, whose values are converted from JSON.
	Conversions map[int64]Conversion
	// Branch, if set, is called with the node of each ?: whose condition was evaluated, and whether it was true.
	Branch func(id int64, holds bool)
}

// Program is an expression that can be run. It is immutable and safe for concurrent use.
type Program struct {
	run   interpreter.InterpretableV2
	limit uint64
}

// NewProgram plans an expression.
func NewProgram(x *Expression, o Options) (*Program, []Issue) {
	env, root := x.Env(), x.Root()
	p := &Program{limit: cmp.Or(o.CostLimit, DefaultCostLimit)}
	planner := []interpreter.PlannerOption{
		decorateOptional(),
		ownCalls(env, o.Moving),
		boundEquality(x),
		watchComparisons(o.Moving),
		interpreter.Optimize(),
		meterCosts(root, env),
		orderRanges(root),
		allowAbsent(o.Absent),
	}
	if len(o.Conversions) > 0 {
		planner = append(planner, convertedNames(root, o.Conversions))
	}
	planner = append(planner, chargedReads(root, env))
	container, provider := env.base.Container, env.base.CELTypeProvider()
	attributes := &factory{
		AttributeFactory: interpreter.NewAttributeFactory(container, Adapter{}, provider), branch: o.Branch, conversions: o.Conversions,
	}
	var err error
	p.run, err = interpreter.NewInterpreter(env.dispatcher, container, provider, Adapter{}, attributes).NewInterpretable(x.ast, planner...)
	if err == nil {
		return p, nil
	}
	at := -1
	if celErr, ok := errors.AsType[*types.Err](err); ok {
		at = x.Offset(celErr.NodeID())
	}
	return nil, []Issue{{Offset: at, Message: err.Error()}}
}

// Eval runs the program. vars resolves the names in the expression's scope; their values are only read.
//
// The error is a *ReadError for a missing key, the unchanged error of a Members value, ErrCostLimit, ErrInterrupted, or
// an error of CEL.
func (p *Program) Eval(ctx context.Context, vars interpreter.Activation) (ref.Val, error) {
	return p.EvalWithin(ctx, vars, nil)
}

// EvalWithin is Eval within a budget that several evaluations share, with ErrBudget, ErrDeadline, ErrMemory and
// ErrSharedMemory among its errors.
func (p *Program) EvalWithin(ctx context.Context, vars interpreter.Activation, budget *Budget) (val ref.Val, err error) {
	if budget != nil {
		outer := budget.Memory.begin()
		defer func() { budget.Memory.end(val, outer) }()
	}
	defer recovered(&val, &err)
	metered := &meteredVars{Activation: vars, meter: meter{ctx: ctx, budget: budget, limit: p.limit}}
	if budget != nil {
		budget.start()
	}
	metered.meter.checkTime()
	defer metered.meter.settle()
	frame, err := interpreter.NewExecutionFrame(metered)
	if err != nil {
		return nil, err
	}
	defer frame.Close()
	out := p.run.Exec(frame)
	celErr, ok := out.(*types.Err)
	if !ok {
		return out, nil
	}
	if read, ok := errors.AsType[*ReadError](celErr); ok && read.NodeID == 0 {
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
			read, isRead := errors.AsType[*ReadError](celErr)
			if errors.Is(celErr.Unwrap(), ErrAbsent) || isRead && read.Reason != ReasonType && slices.Contains(nodes, read.NodeID) {
				return types.False
			}
			return val
		}
	})
}

// Constant returns the value of a part of the expression that reads no names and is cheap; false for every other part,
// and for one without a value.
func Constant(x *Expression, e ast.Expr) (ref.Val, bool) {
	for n := range All(e) {
		if n.Kind() == ast.IdentKind {
			return nil, false
		}
	}
	val, err := valueOf(x, e, cheap)
	return val, err == nil && val != nil
}

// EvalPart evaluates a part of the expression that reads no names. It returns the error of the plan or of the evaluation.
func EvalPart(x *Expression, e ast.Expr) (ref.Val, error) { return valueOf(x, e, DefaultCostLimit) }

// cheap is the most that a constant may cost.
const cheap = 1000

func valueOf(x *Expression, e ast.Expr, limit uint64) (ref.Val, error) {
	prog, issues := NewProgram(x.Part(e), Options{CostLimit: limit})
	if len(issues) > 0 {
		return nil, errors.New(issues[0].Message)
	}
	return prog.EvalWithin(nil, interpreter.EmptyActivation(), nil) //nolint:staticcheck // Only the cost bounds it.
}
