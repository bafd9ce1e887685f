package celenv

import (
	"fmt"
	"slices"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/functions"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/cel-go/ext"
	"github.com/google/cel-go/interpreter"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/cel/library"
)

// newDispatcher returns the implementations of the library functions of an environment, each within its bounds.
func newDispatcher(env *cel.Env, declared map[string]Declaration) (interpreter.Dispatcher, error) {
	dispatcher := interpreter.NewDispatcher()
	changed, fast := changes(), fastSets()
	for name, fn := range env.Functions() {
		bindings, err := fn.Bindings()
		if err != nil {
			return nil, fmt.Errorf("bind the CEL function %s: %w", name, err)
		}
		for _, b := range bindings {
			if by := changed[name]; by != nil {
				b = around(b, by)
			}
			if d := declared[name]; d.limits != nil || d.longest > 0 {
				b = around(b, func(op call, args ...ref.Val) ref.Val {
					if err := d.refuse(name, args...); err != nil {
						return err
					}
					return op(args...)
				})
			}
			if by := fast[name]; by != nil {
				b = around(b, by)
			}
			if err := dispatcher.Add(b); err != nil {
				return nil, fmt.Errorf("bind the CEL function %s: %w", name, err)
			}
		}
	}
	return dispatcher, nil
}

type call = func(args ...ref.Val) ref.Val

// change is another implementation of a function. op is that of the library.
type change = func(op call, args ...ref.Val) ref.Val

// around returns an overload with another implementation.
func around(b *functions.Overload, by change) *functions.Overload {
	out := *b
	if op := b.Unary; op != nil {
		out.Unary = func(val ref.Val) ref.Val {
			return by(func(args ...ref.Val) ref.Val { return op(args[0]) }, val)
		}
	}
	if op := b.Binary; op != nil {
		out.Binary = func(lhs, rhs ref.Val) ref.Val {
			return by(func(args ...ref.Val) ref.Val { return op(args[0], args[1]) }, lhs, rhs)
		}
	}
	if op := b.Function; op != nil {
		out.Function = func(args ...ref.Val) ref.Val { return by(call(op), args...) }
	}
	return &out
}

// changes returns, by function, what is different from the libraries.
func changes() map[string]change {
	all := map[string]change{
		// Like every other read of a missing value, that of optional.none() is a *ReadError; its node is the call.
		"value": func(op call, args ...ref.Val) ref.Val {
			if opt, ok := args[0].(*types.Optional); ok && !opt.HasValue() {
				return types.WrapErr(&ReadError{Reason: ReasonMissing, Key: "value()", Found: "optional_type"})
			}
			return op(args...)
		},
		"json.encode": func(_ call, args ...ref.Val) ref.Val { return toJSONText(args) },
		"findAll":     func(_ call, args ...ref.Val) ref.Val { return findAll(args...) },
	}
	for _, operator := range mixedOperators() {
		all[operator] = withDoubles(operator == operators.Add)
	}
	for name, found := range map[string]string{
		"int":       "no integer",
		"uint":      "no integer that is 0 or more",
		"double":    "no number",
		"bool":      "neither true nor false",
		"timestamp": NoTime,
		"duration":  NoDuration,
		"quantity":  "no quantity, such as 500m or 2Gi",
		"ip":        "no IP address",
		"cidr":      "no range of addresses, such as 10.0.0.0/8",
		"url":       "no absolute URL or path",
		"semver":    "no version, such as 1.2.3",
	} {
		all[name] = func(op call, args ...ref.Val) ref.Val { // the error names the text that cannot be converted
			out := op(args...)
			if text, ok := args[0].(types.String); ok && types.IsError(out) {
				return types.WrapErr(&UnfitError{Text: string(text), Found: found})
			}
			return out
		}
	}
	return all
}

// fastSets returns the functions that take lists of only texts or only ints however long they are.
func fastSets() map[string]change {
	return map[string]change{
		"distinct": func(op call, args ...ref.Val) ref.Val {
			if _, items := scalarsOf(args[0]); len(items) > 0 {
				return types.NewRefValList(Adapter{}, items)
			}
			return op(args...)
		},
		"sets.contains":   setRelation(sets.Set[ref.Val].IsSuperset),
		"sets.equivalent": setRelation(sets.Set[ref.Val].Equal),
		"sets.intersects": setRelation(func(a, b sets.Set[ref.Val]) bool { return a.Intersection(b).Len() > 0 }),
	}
}

// mixedOperators returns the operators that take an int and a double.
func mixedOperators() []string {
	return []string{operators.Add, operators.Subtract, operators.Multiply, operators.Divide}
}

// mixedArithmetic declares for the checker that an int and a double can be added, subtracted, multiplied and divided,
// with a double as the result. withDoubles has the implementation: a standard operator has one for all types, and a
// declaration cannot add another.
func mixedArithmetic() cel.EnvOption {
	return func(env *cel.Env) (*cel.Env, error) {
		for _, op := range mixedOperators() {
			var err error
			env, err = cel.Function(op,
				cel.Overload("kanon_"+op+"_int_double", []*cel.Type{cel.IntType, cel.DoubleType}, cel.DoubleType),
				cel.Overload("kanon_"+op+"_double_int", []*cel.Type{cel.DoubleType, cel.IntType}, cel.DoubleType),
			)(env)
			if err != nil {
				return nil, fmt.Errorf("declare %s: %w", op, err)
			}
		}
		return env, nil
	}
}

// withDoubles makes an operator convert an int to a double if the other operand is a double. If two types do not go
// together, the error names them.
func withDoubles(adds bool) change {
	return func(op call, args ...ref.Val) ref.Val {
		lhs, rhs := args[0], args[1]
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
}

func typeName(val ref.Val) string {
	text := TypeText(val)
	if _, name, found := strings.Cut(text, " "); found {
		return name
	}
	return text
}

// HowToConvert says how to convert operands of types that do not go together.
func HowToConvert(operands ...string) string {
	if slices.Contains(operands, "string") && (slices.Contains(operands, "timestamp") || slices.Contains(operands, "duration")) {
		return "write timestamp(…) around a text that is a time, and duration(…) around one such as 1h"
	}
	return "convert one with string(…), int(…) or double(…)"
}

// joined returns a + b for two lists, and nil for anything else. It replaces CEL's own sum, which is a view of both
// lists: views of views take ever longer to read, and can have more items than memory has room for.
func joined(a, b ref.Val) ref.Val {
	if _, gathers := a.(traits.MutableLister); gathers {
		return nil
	}
	l, isList := a.(traits.Lister)
	r, isOther := b.(traits.Lister)
	if !isList || !isOther {
		return nil
	}
	items := make([]ref.Val, 0, ListLength(l)+ListLength(r))
	for _, list := range []traits.Lister{l, r} {
		for it := list.Iterator(); it.HasNext() == types.True; {
			items = append(items, it.Next())
		}
	}
	return types.NewRefValList(Adapter{}, items)
}

// scalarsOf returns the items of a list of only texts or only ints, each once, as a set and in order. It returns nil
// for every other list, and for one that is too long. cel-go compares every item with every other, so lists of more than
// a thousand items would have to be refused.
func scalarsOf(val ref.Val) (set sets.Set[ref.Val], order []ref.Val) {
	list, ok := val.(traits.Lister)
	if !ok || ListLength(list) > maxScalars {
		return nil, nil
	}
	set = make(sets.Set[ref.Val], ListLength(list))
	for it := list.Iterator(); it.HasNext() == types.True; {
		item := it.Next()
		switch item.(type) {
		case types.String, types.Int:
		default: // a double can equal an int
			return nil, nil
		}
		if len(order) > 0 && item.Type() != order[0].Type() {
			return nil, nil
		}
		if !set.Has(item) {
			set.Insert(item)
			order = append(order, item)
		}
	}
	return set, order
}

// setRelation compares two lists of scalars of the same type by holds. It leaves all other lists to cel-go.
func setRelation(holds func(a, b sets.Set[ref.Val]) bool) change {
	return func(op call, args ...ref.Val) ref.Val {
		a, aOrder := scalarsOf(args[0])
		b, bOrder := scalarsOf(args[1])
		if len(aOrder) == 0 || len(bOrder) == 0 || aOrder[0].Type() != bOrder[0].Type() {
			return op(args...)
		}
		return types.Bool(holds(a, b))
	}
}

const (
	// maxPrecision is how many digits format writes after the decimal point: a double has 17 significant ones.
	maxPrecision = 100
	// maxRange is the longest list that lists.range makes.
	maxRange = 100_000
)

// Libraries returns the functions and macros: those of cel-go and of Kubernetes, in fixed versions, and Kanon's own.
func Libraries() []cel.EnvOption {
	return []cel.EnvOption{
		cel.OptionalTypes(cel.OptionalTypesVersion(2)),

		ext.Bindings(ext.BindingsVersion(0)),
		ext.Encoders(ext.EncodersVersion(1)),
		ext.Lists(ext.ListsVersion(3), ext.ListsMaxRangeSize(maxRange)),
		ext.Math(ext.MathVersion(2)),
		ext.Sets(ext.SetsVersion(0)),
		ext.Strings(ext.StringsVersion(4), ext.StringsMaxPrecision(maxPrecision)),
		ext.TwoVarComprehensions(ext.TwoVarComprehensionsVersion(0)),

		library.CIDR(),
		library.Format(),
		library.IP(),
		library.Lists(library.ListsVersion(1)),
		library.Quantity(),
		library.Regex(),
		library.SemverLib(library.SemverVersion(1)),
		library.URLs(),

		mixedArithmetic(),
		ownLibrary(),
	}
}
