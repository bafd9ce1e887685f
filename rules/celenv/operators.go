package celenv

import (
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
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
