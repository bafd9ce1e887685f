package rules

import (
	"slices"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"

	"kanon.dev/kanon/openapi"
	"kanon.dev/kanon/rules/celenv"
	"kanon.dev/kanon/rules/celenv/value"
)

func (t *typing) call(e ast.Expr, env typeBindings, computed bool) typed {
	call := e.AsCall()
	args := call.Args()
	switch call.FunctionName() {
	case operators.Index, operators.OptIndex, operators.OptSelect:
		return t.read(e, t.indexed(e, args[0], args[1], env, call.FunctionName() != operators.Index), computed)
	case operators.Conditional:
		return t.choice(e, env, computed)
	case operators.Equals, operators.NotEquals:
		return t.equality(e, env)
	case operators.In:
		return t.membership(e, env)
	}
	if name := call.FunctionName(); name == operators.LogicalAnd || name == operators.LogicalOr {
		if !t.joined[e.ID()] {
			t.checkTerms(e)
		}
		for _, arg := range args {
			if arg.Kind() == ast.CallKind && arg.AsCall().FunctionName() == name {
				t.joined[arg.ID()] = true // looked at with e
			}
		}
	}
	passed := isPassing(call.FunctionName())
	operands := celenv.Operands(e)
	given := make([]typed, len(operands))
	cel := make([]*types.Type, len(operands))
	for i, o := range operands {
		given[i] = t.walk(o, env, computed || !passed)
		cel[i] = given[i].cel()
	}
	result, wrong := t.c.env.Result(call.FunctionName(), call.IsMemberFunction(), cel)
	if wrong >= 0 {
		t.wrongOperand(e, operands, given, wrong)
		return typed{}
	}
	out := t.c.types.fromCEL(result)
	if passed && len(given) > 0 && given[0].schema != nil && innerType(result).IsExactType(t.c.types.celType(given[0].schema)) {
		if len(operands) == 1 || keepsEnum(given[0].schema, operands[1]) {
			out.schema = given[0].schema
		}
	}
	return out
}

// keepsEnum says whether a value that a field has by default is one that the
// field can have.
func keepsEnum(s *openapi.Schema, value ast.Expr) bool {
	return len(s.Enum) == 0 || value.Kind() == ast.LiteralKind && inEnum(s, value.AsLiteral())
}

func inEnum(s *openapi.Schema, val ref.Val) bool {
	return slices.ContainsFunc(s.Enum, func(allowed any) bool { return types.Equal(value.FromJSON(allowed), val) == types.True })
}

// isPassing says whether a function gives its operands as they are.
func isPassing(function string) bool {
	switch function {
	case "dyn", "optional.of", "optional.ofNonZeroValue", "value", "or", "orValue", "hasValue":
		return true
	}
	return false
}

// choice is condition ? yes : no.
func (t *typing) choice(e ast.Expr, env typeBindings, computed bool) typed {
	args := e.AsCall().Args()
	condition := t.value(args[0], env)
	if !celenv.Meet(condition.cel(), types.BoolType) {
		what := "the condition before ? must be true or false"
		if isAccumulator(args[1]) || isAccumulator(args[2]) {
			what = loopCondition
		}
		t.notBool(args[0], condition, what)
	}
	yes, no := t.walk(args[1], env, computed), t.walk(args[2], env, computed)
	if yes.root != "" || no.root != "" {
		if yes.root == no.root {
			return yes
		}
		return typed{}
	}
	if !celenv.Meet(yes.cel(), no.cel()) {
		if yes.cel().Kind() != no.cel().Kind() { // two maps may hold different things
			t.differentBranches(e, yes, no)
		}
		return typed{}
	}
	return t.join(yes, no)
}

// equality is a == b and a != b.
func (t *typing) equality(e ast.Expr, env typeBindings) typed {
	args := e.AsCall().Args()
	lhs, rhs := t.value(args[0], env), t.value(args[1], env)
	if !celenv.Meet(lhs.cel(), rhs.cel()) {
		t.neverEqual(e, args[0], args[1], lhs, rhs)
	} else if !t.checkEnum(args[1], args[0], lhs) {
		t.checkEnum(args[0], args[1], rhs)
	}
	return typed{typ: types.BoolType}
}

// membership is a in b.
func (t *typing) membership(e ast.Expr, env typeBindings) typed {
	args := e.AsCall().Args()
	item, in := t.value(args[0], env), t.value(args[1], env)
	typ := in.cel()
	switch typ.Kind() {
	case types.ListKind:
		if args[1].Kind() == ast.ListKind {
			for _, literal := range args[1].AsList().Elements() {
				if v := t.expr.TypeOf(literal.ID()); !celenv.Meet(v, item.cel()) {
					t.neverEqual(literal, args[0], literal, item, typed{typ: v})
				} else {
					t.checkEnum(literal, args[0], item)
				}
			}
			break
		}
		element := t.c.types.element(in)
		if !celenv.Meet(item.cel(), element.cel()) {
			t.neverIn(e, args[0], args[1], item, element)
		} else {
			t.checkEnum(args[0], args[1], element)
		}
	case types.MapKind:
		if !celenv.Meet(item.cel(), typ.Parameters()[0]) {
			t.neverIn(e, args[0], args[1], item, typed{typ: typ.Parameters()[0]})
		}
	case types.StructKind:
		if !celenv.Meet(item.cel(), types.StringType) {
			t.neverIn(e, args[0], args[1], item, typed{typ: types.StringType})
		}
	case types.DynKind, types.AnyKind, types.ErrorKind, types.TypeParamKind, types.NullTypeKind:
	default:
		t.wrongOperand(e, args, []typed{item, in}, 1)
	}
	return typed{typ: types.BoolType}
}
