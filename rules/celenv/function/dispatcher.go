package function

import (
	"fmt"
	"slices"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/functions"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"

	"kanon.dev/kanon/rules/celenv/value"
)

// Dispatcher returns the implementations of all functions of an environment, each within its bounds.
func (t *Table) Dispatcher(env *cel.Env) (interpreter.Dispatcher, error) {
	dispatcher := interpreter.NewDispatcher()
	mixed := map[string]bool{}
	for _, op := range mixedOperators() {
		mixed[op] = true
	}
	for name, fn := range env.Functions() {
		bindings, err := fn.Bindings()
		if err != nil {
			return nil, fmt.Errorf("bind the CEL function %s: %w", name, err)
		}
		for _, b := range bindings {
			if mixed[b.Operator] {
				b = withDoubles(b)
			}
			b = withFastSets(t.Declared(name).within(name, namingUnfitText(name, adapted(b))))
			if err := dispatcher.Add(b); err != nil {
				return nil, fmt.Errorf("bind the CEL function %s: %w", name, err)
			}
		}
	}
	return dispatcher, nil
}

// withDoubles makes an operator convert an int to a double if the other operand is a double. If two types do not go
// together, the error names them.
func withDoubles(b *functions.Overload) *functions.Overload {
	plain := *b
	op, adds := plain.Binary, b.Operator == operators.Add
	plain.Binary = func(lhs, rhs ref.Val) ref.Val {
		if adds {
			if out := joined(lhs, rhs); out != nil {
				return out
			}
		}
		switch l := lhs.(type) {
		case types.Bytes:
			if adds { // cel-go would append in place to bytes that others share
				lhs = slices.Clip(l)
			}
		case types.Int:
			if _, ok := rhs.(types.Double); ok {
				lhs = types.Double(l)
			}
		case types.Double:
			if r, ok := rhs.(types.Int); ok {
				rhs = types.Double(r)
			}
		}
		out := op(lhs, rhs)
		if types.IsError(out) && lhs.Type() != rhs.Type() {
			a, b := typeName(lhs), typeName(rhs)
			return types.NewErr("%s and %s do not go together here; %s", a, b, HowToConvert(a, b))
		}
		return out
	}
	return &plain
}

func typeName(val ref.Val) string {
	_, name, found := strings.Cut(value.TypeText(val), " ")
	if !found {
		return value.TypeText(val)
	}
	return name
}

// HowToConvert says how to convert operands of types that do not go together.
func HowToConvert(operands ...string) string {
	if slices.Contains(operands, "string") && (slices.Contains(operands, "timestamp") || slices.Contains(operands, "duration")) {
		return "write timestamp(…) around a text that is a time, and duration(…) around one such as 1h"
	}
	return "convert one with string(…), int(…) or double(…)"
}

// adapted replaces the behaviour of some functions of cel-go. The value() of optional.none() is a *ReadError, like
// every other read of a missing value; its node is the call. json.encode is toJson by another name. findAll returns an
// error instead of a list that is too long.
func adapted(b *functions.Overload) *functions.Overload {
	bounded := *b
	switch b.Operator {
	case "value", "optional_value":
		op := b.Unary
		bounded.Unary = func(val ref.Val) ref.Val {
			if opt, ok := val.(*types.Optional); ok && !opt.HasValue() {
				return types.WrapErr(&value.ReadError{Reason: value.ReasonMissing, Key: "value()", Found: "optional_type"})
			}
			return op(val)
		}
	case "json.encode", "json_encode_dyn":
		bounded.Unary = func(val ref.Val) ref.Val { return toJSONText([]ref.Val{val}) }
	case "findAll", "string_find_all_string", "string_find_all_string_int":
		if b.Unary != nil || b.Binary != nil {
			bounded.Binary = func(text, pattern ref.Val) ref.Val { return findAll(nil, text, pattern) }
		}
		if b.Function != nil {
			bounded.Function = func(args ...ref.Val) ref.Val { return findAll(nil, args...) }
		}
	}
	return &bounded
}
