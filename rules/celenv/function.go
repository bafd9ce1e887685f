package celenv

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/cel-go/interpreter"
)

// Own returns one of Kanon's own functions; nil for every other name.
func (e *Env) Own(name string) *Function { return e.own[name] }

// ownFunctions returns all of Kanon's own functions. optionalIf is a macro and not among them.
func ownFunctions() []*Function {
	fields, makes := cel.MapType(cel.StringType, cel.DynType), Declaration{cost: costReads, result: large}
	texts := cel.MapType(cel.StringType, cel.StringType)
	parses := func(longest int, limits func(...ref.Val) ref.Val) Declaration {
		return Declaration{cost: costReads, result: large, longest: longest, limits: limits}
	}
	// A call costs so many units, or so many times and more what it costs to read the arguments.
	units := func(n uint64) func([]ref.Val, ref.Val) uint64 { return func([]ref.Val, ref.Val) uint64 { return n } }
	reads := func(times, more uint64) func([]ref.Val, ref.Val) uint64 {
		return func(args []ref.Val, _ ref.Val) uint64 { return times*textUnits(args...) + more }
	}
	object := func(result *cel.Type) []signature {
		return append(takes(result, fields), takes(result, cel.NullType)...)
	}
	all := []*Function{
		{name: "toJson", signatures: takes(cel.StringType, cel.DynType), declared: makes, call: toJSONText},
		{name: "fromJson", signatures: takes(cel.DynType, cel.StringType), declared: parses(maxText, limitJSON), call: fromJSONText, cost: reads(1, 0)},
		{
			name: "toYaml", signatures: takes(cel.StringType, cel.DynType), declared: makes, call: toYAMLText,
			cost: func(_ []ref.Val, result ref.Val) uint64 { return yamlFactor * textUnits(result) },
		},
		{
			name: "fromYaml", signatures: takes(cel.DynType, cel.StringType), declared: parses(maxYAML, limitYAML),
			call: fromYAMLText, cost: reads(yamlFactor, 0),
		},
		{
			name: "sha256", signatures: append(takes(cel.StringType, cel.StringType), takes(cel.StringType, cel.BytesType)...),
			declared: makes, call: sha256Hex, cost: reads(1, 0),
		},
		{name: "dnsName", signatures: anyNumber(1, cel.StringType), declared: makes, call: dnsName, cost: reads(1, 1)},
		{
			name: RandomName, signatures: takes(cel.StringType, cel.IntType), declared: makes, within: random,
			cost: func(args []ref.Val, _ ref.Val) uint64 {
				n, _ := args[0].(types.Int)
				return uint64(max(0, min(n, maxRandom)))
			},
		},
		{name: "withoutTools", signatures: takes(texts, texts), declared: makes, call: withoutTools, cost: mergeCost(false)},
		{name: "merge", signatures: anyNumber(2, fields), declared: makes, call: mergeAll("merge", false), cost: mergeCost(false)},
		{name: "deepMerge", signatures: anyNumber(2, fields), declared: makes, call: mergeAll("deepMerge", true), cost: mergeCost(true)},
		{
			name: "kstatus", signatures: object(cel.StringType), declared: Declaration{cost: costReads}, cost: units(statusUnits),
			within: statusOf("kstatus", func(s status.Status) ref.Val { return types.String(s) }),
		},
		{
			name: "ready", signatures: object(cel.BoolType), declared: Declaration{cost: costReads}, cost: units(statusUnits),
			within: statusOf("ready", func(s status.Status) ref.Val { return types.Bool(s == status.CurrentStatus) }),
		},
		{
			name: "truncate", signatures: takes(cel.TimestampType, cel.TimestampType, cel.DurationType), declared: Declaration{cost: costFree},
			call: truncate, times: []int{0}, change: truncateChange,
		},
		{name: "cron", signatures: takes(cronType, cel.StringType, cel.StringType), declared: parses(maxNumber, nil), call: newCron, cost: units(cronUnits)},
		{
			name: "next", signatures: ofCron(cel.TimestampType, cel.TimestampType), declared: Declaration{cost: costReads},
			call: cronStep("next", "does not come", (*schedule).next), cost: units(nextUnits), times: []int{1}, change: cronChange,
		},
		{
			name: "previous", signatures: ofCron(cel.TimestampType, cel.TimestampType), declared: Declaration{cost: costReads},
			call: cronStep("previous", "did not come", (*schedule).previous), cost: units(previousUnits), times: []int{1}, change: cronChange,
		},
		{
			name: "between", signatures: ofCron(cel.ListType(cel.TimestampType), cel.TimestampType, cel.TimestampType, cel.IntType),
			declared: makes, call: cronBetween, times: []int{1, 2}, change: cronChange,
			cost: func(_ []ref.Val, result ref.Val) uint64 { return nextUnits * (1 + uint64(ListLength(result))) }, //nolint:gosec // It is not negative.
		},
	}
	for _, fn := range all {
		fn.declared.charges = fn.cost != nil
	}
	return all
}

// signature is one overload of a function.
type signature struct {
	// method is true if the first argument is before the dot.
	method bool
	args   []*cel.Type
	result *cel.Type
}

func takes(result *cel.Type, args ...*cel.Type) []signature {
	return []signature{{args: args, result: result}}
}

// ofCron returns the signature of a method of a schedule.
func ofCron(result *cel.Type, args ...*cel.Type) []signature {
	return []signature{{method: true, args: append([]*cel.Type{cronType}, args...), result: result}}
}

// anyNumber returns the signatures of a function that takes least to maxArguments arguments of one type, and gives one.
func anyNumber(least int, typ *cel.Type) (all []signature) {
	for n := least; n <= maxArguments; n++ {
		all = append(all, takes(typ, slices.Repeat([]*cel.Type{typ}, n)...)...)
	}
	return all
}

// maxArguments bounds the arguments of a function that takes any number. CEL has no variadic functions, so each number
// of arguments is a signature of its own.
const maxArguments = 8

// Wait is a duration from now on, greater than 0.
type Wait time.Duration

// Function is one of Kanon's own functions. Its value depends only on its arguments, except where within is set.
type Function struct {
	name       string
	signatures []signature
	// call computes the value. The arguments have the types of a signature.
	call func(args []ref.Val) ref.Val
	// within computes the value instead of call if it depends on the activation; else it is nil.
	within   func(frame *interpreter.ExecutionFrame, args []ref.Val) ref.Val
	declared Declaration
	// cost returns the cost of a call in addition to the one unit of every call; nil means none.
	cost func(args []ref.Val, result ref.Val) uint64
	// change returns after how long the value changes if arguments move with the clock; false if it never does. moving
	// has the speed of each argument. times has the indices of the arguments that may move.
	times  []int
	change func(args []ref.Val, moving []int) (Wait, bool)
}

// invoke calls the function within its bounds. frame resolves names of the activation.
func (f *Function) invoke(frame *interpreter.ExecutionFrame, args []ref.Val) ref.Val {
	if err := f.misfit(args); err != nil {
		return err
	}
	if err := f.declared.refuse(f.name, args...); err != nil {
		return err
	}
	if f.within != nil {
		return f.within(frame, args)
	}
	return f.call(args)
}

// misfit returns the error of an argument of a wrong type, which the checker did not know; else nil.
func (f *Function) misfit(args []ref.Val) ref.Val {
	for i, arg := range args {
		var wants []string
		for _, s := range f.signatures {
			if i >= len(s.args) {
				continue
			}
			if hasType(arg, s.args[i]) {
				wants = nil
				break
			}
			wants = append(wants, TypeWords(s.args[i]))
		}
		position := i + 1
		if f.signatures[0].method {
			position = i
		}
		switch {
		case wants == nil:
		case position == 0:
			return types.NewErr("%s has no %s()", TypeText(arg), f.name)
		default:
			return types.NewErr("argument %d of %s must be %s, and is %s", position, f.name, strings.Join(slices.Compact(wants), " or "), TypeText(arg))
		}
	}
	return nil
}

// hasType reports whether a value has a type. A map may be in an optional.
func hasType(val ref.Val, t *types.Type) bool {
	switch t.Kind() {
	case types.DynKind:
		return true
	case types.MapKind:
		_, isMap := present(val).(traits.Mapper)
		return isMap
	default:
		return val.Type() == t
	}
}

// ChangesAt reports whether the time at which the value of a call changes can be computed. speeds says for each
// operand, the receiver of a method first, by how many seconds it grows in a second. f is nil for a function that is not
// Kanon's own.
func (f *Function) ChangesAt(speeds []int) bool {
	if f == nil || f.change == nil {
		return false
	}
	for i, speed := range speeds {
		if speed != 0 && (speed != 1 || !slices.Contains(f.times, i)) {
			return false
		}
	}
	return true
}

// ownLibrary declares Kanon's own functions and macros.
func ownLibrary() cel.EnvOption {
	return func(env *cel.Env) (*cel.Env, error) {
		env, err := cel.Macros(optionalIfMacro())(env)
		if err != nil {
			return nil, fmt.Errorf("declare optionalIf: %w", err)
		}
		for _, fn := range ownFunctions() {
			var overloads []cel.FunctionOpt
			for i, s := range fn.signatures {
				declare := cel.Overload
				if s.method {
					declare = cel.MemberOverload
				}
				overloads = append(overloads, declare(fmt.Sprintf("kanon_%s_%d", fn.name, i), s.args, s.result))
			}
			if env, err = cel.Function(fn.name, overloads...)(env); err != nil {
				return nil, fmt.Errorf("declare %s: %w", fn.name, err)
			}
		}
		return env, nil
	}
}

// BytesPerUnit is how many bytes of text cost one unit: the inverse of CEL's cost factor for text.
const BytesPerUnit = 10

// CostClass says how the time of a call grows with its arguments.
type CostClass uint8

const (
	// costFree: the time does not grow, or the call reads text once, at the speed of memory.
	costFree CostClass = iota + 1
	// costReads: the call processes each byte or item. It costs the length of the arguments. limits refuses calls whose
	// time would grow faster.
	costReads
	// costPattern: as costReads, and each call compiles a regular expression.
	costPattern
	// costPairs: as costReads, but the call compares values with one another. Each list costs as much as comparing all
	// of its values with one another.
	costPairs
	// costZone: the time does not grow, but each call reads a time zone, its second argument, from a file.
	costZone
)

// zoneUnits is about the cost of reading a time zone, and patternUnits of compiling a short regular expression.
const zoneUnits, patternUnits = 100, 20

// Declaration bounds the calls of a function, for all of its overloads. A call cannot be interrupted, so its bounds
// must be known before it.
type Declaration struct {
	cost CostClass
	// result says whether the result can be larger than a small value. The limits of the arguments bound its size.
	result result
	// longest is the maximum length of a text argument; 0 means any.
	longest int
	// limits returns an error for arguments that are not allowed; nil if there is no such check.
	limits func(args ...ref.Val) ref.Val
	// charges is true for a function that computes the cost of a call itself.
	charges bool
}

// result says how large a result can be.
type result bool

const (
	small result = false
	large result = true
)

// declarations returns Kanon's own functions, and the declarations of all functions of the environment, by name.
func declarations() (own map[string]*Function, all map[string]Declaration) {
	own, all = map[string]*Function{}, libraryFunctions()
	for _, fn := range ownFunctions() {
		own[fn.name], all[fn.name] = fn, fn.declared
	}
	return own, all
}

// refuse returns an error for arguments that are not allowed; else nil.
func (d Declaration) refuse(name string, args ...ref.Val) ref.Val {
	for _, arg := range args {
		if d.longest > 0 && TextLength(arg) > int64(d.longest) {
			return types.NewErr("%s takes at most %d bytes", name, d.longest)
		}
	}
	if d.limits != nil {
		return d.limits(args...)
	}
	return nil
}

// Units returns the cost of processing an argument.
func (c CostClass) Units(val ref.Val) uint64 {
	switch v := val.(type) {
	case types.String, types.Bytes:
		return uint64(TextLength(v)) / BytesPerUnit //nolint:gosec // It is not negative.
	case traits.MutableLister, traits.MutableMapper: // the accumulator of a loop
	case traits.Lister:
		units := uint64(ListLength(v)) //nolint:gosec // It is not negative.
		if c == costPairs {
			units += pairUnits(v)
		}
		return units
	case traits.Mapper:
		size, _ := v.Size().(types.Int)
		return uint64(size) //nolint:gosec // It is not negative.
	}
	return 0
}

// pairUnits returns the cost of comparing all values of a list with one another. Lists of only texts or only ints cost
// nothing, because their items are found by hash.
func pairUnits(list traits.Lister) uint64 {
	if _, items := scalarsOf(list); len(items) > 0 {
		return 0
	}
	left := maxPairs
	CountParts(list, &left)
	parts := uint64(maxPairs - max(left, 0))                            //nolint:gosec // It is not negative.
	return min(uint64(ListLength(list))*parts, maxPairs) / BytesPerUnit //nolint:gosec // As above.
}

// textUnits returns the cost of reading texts once.
func textUnits(args ...ref.Val) uint64 {
	units := uint64(0)
	for _, arg := range args {
		units += costReads.Units(arg)
	}
	return units
}

// libraryFunctions has the operators, the functions of CEL, and those of the libraries of cel-go and Kubernetes.
func libraryFunctions() map[string]Declaration {
	all := map[string]Declaration{}
	declare := func(cost CostClass, result result, longest int, limits func(...ref.Val) ref.Val, functions ...string) {
		for _, function := range functions {
			all[function] = Declaration{cost: cost, result: result, longest: longest, limits: limits}
		}
	}
	// operators, and functions that the macros of loops expand to
	declare(costFree, large, 0, limitSum, operators.Add)
	declare(costFree, small, 0, nil,
		operators.LogicalNot, operators.Negate, operators.NotStrictlyFalse, operators.Modulo, operators.LogicalAnd, operators.Multiply,
		operators.Subtract, operators.Divide, "__not_strictly_false__", operators.LogicalOr, "type", operators.OptSelect,
		operators.Conditional, operators.OptIndex, operators.Index, "dyn", operators.In, operators.NotEquals, operators.LessEquals,
		operators.Less, operators.Equals, operators.GreaterEquals, operators.Greater, operators.OldIn, "in", "size",
	)

	// conversions
	declare(costFree, small, maxNumber, nil, "bool", "double", "duration", "int", "timestamp", "uint")
	declare(costReads, large, 0, nil, "bytes")
	declare(costFree, large, 0, nil, "string")

	// text
	declare(costReads, large, 0, nil, "base64.decode", "base64.encode", "json.encode", "reverse", "strings.quote", "substring")
	declare(costReads, small, 0, nil, "charAt")
	declare(costFree, small, 0, nil, "contains", "endsWith", "startsWith", "trim")
	declare(costPattern, small, 0, limitMatch, "find", "matches")
	declare(costPattern, large, 0, limitMatch, "findAll")
	declare(costReads, large, 0, limitFormat, "format")
	declare(costReads, small, 0, within, "indexOf", "lastIndexOf")
	declare(costReads, large, 0, within, "join")
	declare(costFree, large, 0, nil, "lowerAscii", "upperAscii")
	declare(costReads, large, 0, within, "replace")
	declare(costReads, large, 0, limitSplit, "split")

	// lists, maps and optional values
	declare(costReads, large, 0, limitSorted, "@sortByAssociatedKeys", "sort")
	declare(costReads, large, 0, nil, "cel.@mapInsert", "lists.range", "slice", "optional.unwrap", "unwrapOpt")
	declare(costPairs, large, 0, limitPairs, "distinct")
	declare(costFree, small, 0, nil,
		"first", "last", "hasValue", "optional.none", "optional.of", "optional.ofNonZeroValue", "or", "orValue", "value",
	)
	declare(costReads, large, 0, limitFlatten, "flatten")
	declare(costReads, small, 0, nil, "includes", "isSorted", "max", "min", "sum")
	declare(costPairs, small, 0, limitPairs, "sets.contains", "sets.equivalent", "sets.intersects")

	// numbers and times
	declare(costZone, small, maxNumber, nil,
		"getDate", "getDayOfMonth", "getDayOfWeek", "getDayOfYear", "getFullYear", "getHours", "getMilliseconds", "getMinutes", "getMonth",
		"getSeconds",
	)
	declare(costReads, small, 0, nil, "math.@max", "math.@min")
	declare(costFree, small, 0, nil,
		"math.abs", "math.bitAnd", "math.bitNot", "math.bitOr", "math.bitShiftLeft", "math.bitShiftRight", "math.bitXor", "math.ceil",
		"math.floor", "math.isFinite", "math.isInf", "math.isNaN", "math.round", "math.sign", "math.sqrt", "math.trunc",
	)

	// Kubernetes
	declare(costFree, large, 0, nil, "add", "sub")
	declare(costFree, small, 0, nil,
		"asApproximateFloat", "asInteger", "compareTo", "family", "format.byte", "format.date", "format.datetime", "format.dns1035Label",
		"format.dns1035LabelPrefix", "format.dns1123Label", "format.dns1123LabelPrefix", "format.dns1123Subdomain",
		"format.dns1123SubdomainPrefix", "format.labelValue", "format.named", "format.qualifiedName", "format.uri", "format.uuid",
		"isGlobalUnicast", "isGreaterThan", "isInteger", "isLessThan", "isLinkLocalMulticast", "isLinkLocalUnicast", "isLoopback",
		"isUnspecified", "major", "masked", "minor", "patch", "prefixLength", "sign",
	)
	declare(costReads, large, maxNumber, nil,
		"cidr", "containsCIDR", "containsIP", "ip", "ip.isCanonical", "isCIDR", "isIP", "isSemver", "semver",
	)
	declare(costReads, large, 0, nil, "getEscapedPath", "getHost", "getHostname", "getPort", "getQuery", "getScheme")
	declare(costReads, large, maxNumber, limitExponent, "isQuantity", "quantity")
	declare(costReads, small, maxNamed, nil, "isURL")
	declare(costReads, large, maxNamed, nil, "url")
	declare(costReads, large, maxNamed, nil, "validate")
	return all
}
