package celenv

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
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

// maxCompared is how many values both sides of == may contain together.
const maxCompared = 200_000

// boundEquality bounds ==, != and in: a value can contain others so many times that a comparison would not end.
func boundEquality(x *Expression) interpreter.PlannerOption {
	deep := map[int64]bool{}
	for e := range All(x.Root()) {
		if e.Kind() != ast.CallKind {
			continue
		}
		args := e.AsCall().Args()
		switch e.AsCall().FunctionName() {
		case operators.Equals, operators.NotEquals:
			deep[e.ID()] = mayBeDeep(x.TypeOf(args[0].ID())) && mayBeDeep(x.TypeOf(args[1].ID()))
		case operators.In:
			deep[e.ID()] = mayBeDeep(x.TypeOf(args[0].ID()))
		}
	}
	return decorateCalls(func(call interpreter.InterpretableCall) exec {
		if !deep[call.ID()] || len(call.Args()) != 2 {
			return nil
		}
		return deepComparison(call)
	})
}

// mayBeDeep reports whether values of a type can contain other values.
func mayBeDeep(t *types.Type) bool {
	switch t.Kind() {
	case types.ListKind, types.MapKind, types.OpaqueKind, types.DynKind, types.AnyKind, types.TypeParamKind, types.StructKind:
		return true
	default:
		return false
	}
}

// deepComparison implements ==, != and in for values that can contain other values.
func deepComparison(call interpreter.InterpretableCall) exec {
	return func(frame *interpreter.ExecutionFrame) ref.Val {
		lhs, rhs, failed := operandsOf(call, frame)
		if failed != nil {
			return failed
		}
		left := maxCompared
		if !CountParts(lhs, &left) || !CountParts(rhs, &left) {
			return types.NewErrWithNodeID(call.ID(), "the values that are compared have more than %d parts", maxCompared)
		}
		charge(frame, uint64(maxCompared-left)/BytesPerUnit) //nolint:gosec // It is not negative.
		switch call.Function() {
		case operators.Equals:
			return types.Equal(lhs, rhs)
		case operators.NotEquals:
			return types.Bool(types.Equal(lhs, rhs) != types.True)
		}
		if c, ok := rhs.(traits.Container); ok {
			return c.Contains(lhs)
		}
		return call.Exec(frame)
	}
}

// decorateOptional makes or and orValue evaluate their second operand only if the first has no value. cel-go does this
// in the program options of its library, which Expression.Plan does not use.
func decorateOptional() interpreter.PlannerOption {
	return decorate(func(i interpreter.InterpretableV2) exec {
		call, ok := i.(interpreter.InterpretableCall)
		if !ok || len(call.Args()) != 2 || call.Function() != "or" && call.Function() != "orValue" {
			return nil
		}
		first, second, unwrap := call.Args()[0], call.Args()[1], call.Function() == "orValue"
		return func(frame *interpreter.ExecutionFrame) ref.Val {
			val := first.Exec(frame)
			if types.IsUnknownOrError(val) {
				return val
			}
			opt, ok := val.(*types.Optional)
			switch {
			case !ok:
				return types.NewErrWithNodeID(call.ID(), "or and orValue are for optional values, such as a.?b or a[?i]; this is %s", val.Type().TypeName())
			case !opt.HasValue():
				return second.Exec(frame)
			case unwrap:
				return opt.GetValue()
			}
			return opt
		}
	})
}

// orderRanges makes loops iterate over maps that CEL made in the order of their keys. Maps of JSON do so themselves.
func orderRanges(root ast.Expr) interpreter.PlannerOption {
	ranges := map[int64]bool{}
	for e := range All(root) {
		if e.Kind() == ast.ComprehensionKind {
			if r := e.AsComprehension().IterRange(); r.Kind() != ast.ListKind {
				ranges[r.ID()] = true
			}
		}
	}
	return decorate(func(i interpreter.InterpretableV2) exec {
		if !ranges[i.ID()] {
			return nil
		}
		return func(frame *interpreter.ExecutionFrame) ref.Val {
			val := i.Exec(frame)
			if plain, _ := JSON(val); plain != nil {
				return val
			}
			if m, ok := val.(traits.Mapper); ok {
				return &orderedMap{Mapper: m}
			}
			return val
		}
	})
}

// orderedMap is a map that is iterated in the order of its keys.
type orderedMap struct {
	traits.Mapper
}

func (m *orderedMap) Iterator() traits.Iterator {
	return types.NewRefValList(Adapter{}, SortedKeys(m.Mapper)).Iterator()
}

func (m *orderedMap) Fold(f traits.Folder) {
	for _, k := range SortedKeys(m.Mapper) {
		val, _ := m.Find(k)
		if !f.FoldEntry(k, val) {
			return
		}
	}
}
