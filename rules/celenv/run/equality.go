package run

import (
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

// maxCompared is how many values both sides of == may contain together.
const maxCompared = 200_000

// boundEquality bounds ==, != and in: a value can contain others so many times that a comparison would not end.
func boundEquality(x *celenv.Expression) interpreter.PlannerOption {
	deep := map[int64]bool{}
	for e := range celenv.All(x.Root()) {
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
		if !value.CountParts(lhs, &left) || !value.CountParts(rhs, &left) {
			return types.NewErrWithNodeID(call.ID(), "the values that are compared have more than %d parts", maxCompared)
		}
		charge(frame, uint64(maxCompared-left)/function.BytesPerUnit) //nolint:gosec // It is not negative.
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
