package function

import (
	"github.com/google/cel-go/common/functions"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"

	"kanon.dev/kanon/rules/celenv/value"
)

// BytesPerUnit is how many bytes of text cost one unit: the inverse of CEL's cost factor for text.
const BytesPerUnit = 10

// CostClass says how the time of a call grows with its arguments.
type CostClass uint8

const (
	// costConstant: the time does not grow.
	costConstant CostClass = iota + 1
	// costScan: the call reads text once, at the speed of memory. That is free.
	costScan
	// costReads: the call processes each byte or item. It costs the length of the arguments.
	costReads
	// costChecked: the time grows faster than the arguments, so limits refuses calls that would take long. It costs the
	// length of the arguments.
	costChecked
	// costPairs: as costChecked, but the call compares values with one another. Each list costs as much as comparing all
	// of its values with one another.
	costPairs
	// costZone: the time does not grow, but each call reads a time zone, its second argument, from a file.
	costZone
)

// zoneUnits is about the cost of reading a time zone.
const zoneUnits = 100

// Declaration bounds the calls of a function, for all of its overloads. A call cannot be interrupted, so its bounds
// must be known before it. A test compares the declarations with the environment, so that no function and no overload
// lacks one.
type Declaration struct {
	cost CostClass
	// bytes is the maximum size of the result.
	bytes bound
	// longest is the maximum length of a text argument; 0 means any.
	longest int
	// limits returns an error for arguments that are not allowed; nil if there is no such check.
	limits func(args ...ref.Val) ref.Val
	// charges is true for a function that computes the cost of a call itself.
	charges bool
}

// MakesLong reports whether the size of the result grows with the arguments.
func (d Declaration) MakesLong() bool { return d.bytes.of != nil }

// MakesMuch reports whether the result can be larger than a small value.
func (d Declaration) MakesMuch() bool { return d.MakesLong() || d.bytes.fixed > small().fixed }

// Cheap reports whether the function may be called in an expression whose cost is not metered.
func (d Declaration) Cheap() bool { return d.cost == costConstant || d.cost == costScan }

// ExtraUnits returns the fixed cost of a call with so many arguments, in addition to the one unit of every call.
func (d Declaration) ExtraUnits(args int) uint64 {
	if d.cost == costZone && args > 1 {
		return zoneUnits
	}
	return 0
}

// ChargedFor returns the cost class, and whether a call costs the length of its arguments. It does not if the function
// is cheap, or computes the cost itself.
func (d Declaration) ChargedFor() (CostClass, bool) { return d.cost, !d.Cheap() && !d.charges }

// declarations returns the declarations of all functions of the environment, by name.
func declarations() map[string]Declaration {
	all := map[string]Declaration{}
	for _, table := range [][]row{coreFunctions(), conversions(), textFunctions(), listFunctions(), optionalFunctions(), numberFunctions(), kubernetesFunctions()} {
		for _, r := range table {
			for _, function := range r.functions {
				all[function] = Declaration{cost: r.cost, bytes: r.bytes, longest: r.longest, limits: r.limits}
			}
		}
	}
	for _, fn := range ownFunctions() {
		all[fn.name] = Declaration{cost: fn.class, bytes: fn.bytes, longest: fn.longest, limits: fn.limits, charges: fn.cost != nil}
	}
	return all
}

// row is a line of a table of declarations, for functions with the same bounds.
type row struct {
	functions names
	cost      CostClass
	bytes     bound
	longest   int
	limits    func(args ...ref.Val) ref.Val
}

type names []string

// within wraps an overload so that a call first checks its arguments against the declaration.
func (d Declaration) within(name string, b *functions.Overload) *functions.Overload {
	if d.limits == nil && d.longest == 0 && !d.MakesLong() {
		return b
	}
	bounded := *b
	if op := b.Unary; op != nil {
		bounded.Unary = func(val ref.Val) ref.Val {
			if err := d.tooLong(name, val); err != nil {
				return err
			}
			if d.limits == nil && !d.MakesLong() {
				return op(val)
			}
			if err := d.refuse(name, val); err != nil {
				return err
			}
			return op(val)
		}
	}
	if op := b.Binary; op != nil {
		bounded.Binary = func(lhs, rhs ref.Val) ref.Val {
			if err := d.refuse(name, lhs, rhs); err != nil {
				return err
			}
			return op(lhs, rhs)
		}
	}
	if op := b.Function; op != nil {
		bounded.Function = func(args ...ref.Val) ref.Val {
			if err := d.refuse(name, args...); err != nil {
				return err
			}
			return op(args...)
		}
	}
	return &bounded
}

// refuse returns an error for arguments that are not allowed; else nil.
func (d Declaration) refuse(name string, args ...ref.Val) ref.Val {
	for _, arg := range args {
		if err := d.tooLong(name, arg); err != nil {
			return err
		}
	}
	if d.limits != nil {
		if err := d.limits(args...); err != nil {
			return err
		}
	}
	if d.MakesLong() && d.bytes.most(args) > maxCall {
		return types.NewErr("%s could give more than %d bytes", name, maxCall)
	}
	return nil
}

func (d Declaration) tooLong(name string, arg ref.Val) ref.Val {
	if d.longest > 0 && value.TextLength(arg) > int64(d.longest) {
		return types.NewErr("%s takes at most %d bytes", name, d.longest)
	}
	return nil
}

// Units returns the cost of processing an argument.
func (c CostClass) Units(val ref.Val) uint64 {
	switch v := val.(type) {
	case types.String:
		return uint64(len(v)) / BytesPerUnit
	case types.Bytes:
		return uint64(len(v)) / BytesPerUnit
	case traits.MutableLister, traits.MutableMapper: // the accumulator of a loop
	case traits.Lister:
		units := uint64(value.ListLength(v)) //nolint:gosec // It is not negative.
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
	value.CountParts(list, &left)
	parts := uint64(maxPairs - max(left, 0))                                  //nolint:gosec // It is not negative.
	return min(uint64(value.ListLength(list))*parts, maxPairs) / BytesPerUnit //nolint:gosec // As above.
}
