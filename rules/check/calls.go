package check

import (
	"slices"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"

	"kanon.dev/kanon/kinds/openapi"
	"kanon.dev/kanon/rules/celenv"
	"kanon.dev/kanon/rules/celenv/value"
)

// call returns the type of a function call or an operator.
func (c *checker) call(e ast.Expr, env bindings, computed bool) Type {
	function := e.AsCall().FunctionName()
	switch function {
	case operators.Conditional:
		return c.choice(e, env, computed)
	case operators.Equals, operators.NotEquals:
		return c.equality(e, env)
	case operators.In:
		return c.membership(e, env)
	case operators.LogicalAnd, operators.LogicalOr:
		c.checkTerms(e, function)
	}
	passed := isPassing(function)
	var operands []operand
	var cel []*types.Type
	for _, o := range celenv.Operands(e) {
		given := c.walk(o, env, computed || !passed)
		operands, cel = append(operands, operand{o, given}), append(cel, given.CEL())
	}
	result, wrong := call(c.Expr.Env(), function, e.AsCall().IsMemberFunction(), cel)
	if wrong >= 0 {
		c.wrongOperand(e, operands, wrong)
		return Type{}
	}
	out := c.Table.fromCEL(result)
	if !passed || len(operands) == 0 {
		return out
	}
	if s := operands[0].schema; s != nil && inner(result).IsExactType(c.Table.celType(s)) && (len(operands) == 1 || keepsEnum(s, operands[1].e)) {
		out.schema = s
	}
	return out
}

// keepsEnum reports whether a default is one of the values that a field can have.
func keepsEnum(s *openapi.Schema, value ast.Expr) bool {
	return len(s.Enum) == 0 || value.Kind() == ast.LiteralKind && inEnum(s, value.AsLiteral())
}

func inEnum(s *openapi.Schema, val ref.Val) bool {
	return slices.ContainsFunc(s.Enum, func(allowed any) bool { return types.Equal(value.FromJSON(allowed), val) == types.True })
}

// isPassing reports whether a function returns its operands unchanged.
func isPassing(function string) bool {
	switch function {
	case "dyn", "optional.of", "optional.ofNonZeroValue", "value", "or", "orValue", "hasValue":
		return true
	}
	return false
}

// choice checks condition ? yes : no.
func (c *checker) choice(e ast.Expr, env bindings, computed bool) Type {
	args := e.AsCall().Args()
	c.mustBeBool(operand{args[0], c.value(args[0], env)}, "the condition before ?", args[1], args[2])
	yes, no := c.walk(args[1], env, computed), c.walk(args[2], env, computed)
	switch {
	case yes.group != no.group:
		return Type{}
	case yes.group != "":
		return yes
	case Meet(yes.CEL(), no.CEL()):
		return c.join(yes, no)
	case yes.Kind() != no.Kind(): // two maps with values of different types are fine
		c.differentBranches(e, operand{args[1], yes}, operand{args[2], no})
	}
	return Type{}
}

// equality checks a == b and a != b.
func (c *checker) equality(e ast.Expr, env bindings) Type {
	args := e.AsCall().Args()
	lhs, rhs := c.value(args[0], env), c.value(args[1], env)
	if !Meet(lhs.CEL(), rhs.CEL()) {
		c.neverEqual(e, operand{args[0], lhs}, operand{args[1], rhs})
	} else if !c.checkEnum(args[1], args[0], lhs) {
		c.checkEnum(args[0], args[1], rhs)
	}
	return Of(types.BoolType)
}

// membership checks a in b.
func (c *checker) membership(e ast.Expr, env bindings) Type {
	args := e.AsCall().Args()
	item, in := c.value(args[0], env), c.value(args[1], env)
	switch typ := in.CEL(); {
	case args[1].Kind() == ast.ListKind:
		for _, literal := range args[1].AsList().Elements() {
			if v := Of(c.Expr.TypeOf(literal.ID())); !Meet(v.CEL(), item.CEL()) {
				c.neverEqual(literal, operand{args[0], item}, operand{literal, v})
			} else {
				c.checkEnum(literal, args[0], item)
			}
		}
	case typ.Kind() == types.ListKind || isMap(typ):
		element := c.Table.Element(in)
		if isMap(typ) {
			element = Of(asMap(typ).Parameters()[0])
		}
		if !Meet(item.CEL(), element.CEL()) {
			c.neverIn(e, operand{args[0], item}, operand{args[1], element})
		} else {
			c.checkEnum(args[0], args[1], element)
		}
	case !isLoose(typ) && typ.Kind() != types.NullTypeKind:
		c.wrongOperand(e, []operand{{args[0], item}, {args[1], in}}, 1)
	}
	return Of(types.BoolType)
}
