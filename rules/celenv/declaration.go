package celenv

import (
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
)

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

// MakesMuch reports whether the result can be larger than a small value.
func (d Declaration) MakesMuch() bool { return d.result == large }

// Slow reports whether a call can take long by itself.
func (d Declaration) Slow() bool { return d.cost != costFree }

// ExtraUnits returns the fixed cost of a call with so many arguments, in addition to the one unit of every call.
func (d Declaration) ExtraUnits(args int) uint64 {
	switch {
	case d.cost == costZone && args > 1:
		return zoneUnits
	case d.cost == costPattern:
		return patternUnits
	}
	return 0
}

// ChargedFor returns the cost class, and whether a call costs the length of its arguments.
func (d Declaration) ChargedFor() (CostClass, bool) { return d.cost, d.Slow() && !d.charges }

// declarations returns the declarations of all functions of the environment, by name.
func declarations() map[string]Declaration {
	all := map[string]Declaration{}
	for _, r := range libraryFunctions() {
		for _, function := range r.functions {
			all[function] = Declaration{cost: r.cost, result: r.result, longest: r.longest, limits: r.limits}
		}
	}
	for _, fn := range ownFunctions() {
		all[fn.name] = fn.declared
	}
	return all
}

// row is a line of the table of declarations, for functions with the same bounds.
type row struct {
	functions names
	cost      CostClass
	result    result
	longest   int
	limits    func(args ...ref.Val) ref.Val
}

type names []string

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
