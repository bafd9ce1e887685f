package function

import (
	"github.com/google/cel-go/common/functions"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"

	"kanon.dev/kanon/rules/celenv/value"
)

// BytesPerUnit is the factor by which CEL weighs text, turned round.
const BytesPerUnit = 10

// CostClass is how what a call takes grows with its arguments.
type CostClass uint8

const (
	// costConstant: it does not grow.
	costConstant CostClass = iota + 1
	// costScan: text is read once, at the speed of memory. It costs nothing.
	costScan
	// costReads: each byte or item is worked on. It costs what the arguments are long.
	costReads
	// costChecked: it grows faster than the arguments do, so limits refuses what would
	// take long. It costs what the arguments are long.
	costChecked
	// costPairs: as costChecked, and values are compared with one another, for which
	// each list costs as much as all its values with one another.
	costPairs
	// costZone: it does not grow, and a zone, which is the second argument, is read from
	// a file for each call.
	costZone
)

// zoneUnits is about what it costs to read a zone.
const zoneUnits = 100

// Declaration says of a function what a call takes, in whatever way it is called. One
// call cannot be interrupted, so that is known before it is made. A function that is
// not declared, or can be called in a new way, cannot be in the environment: a test
// compares it with the declarations.
type Declaration struct {
	cost CostClass
	// bytes is the most that the value takes that a call gives.
	bytes bound
	// longest is the longest text that an argument can be. 0: any.
	longest int
	// limits refuses arguments that the bounds do not allow. nil: none.
	limits func(args ...ref.Val) ref.Val
	// charges is true for a function that computes itself what a call costs.
	charges bool
}

// MakesLong reports whether the values are as long as the arguments let them be.
func (d Declaration) MakesLong() bool { return d.bytes.of != nil }

// MakesMuch reports whether a value can take more than a little.
func (d Declaration) MakesMuch() bool { return d.MakesLong() || d.bytes.fixed > little().fixed }

// Cheap reports whether the function may be called in an expression whose cost is not metered.
func (d Declaration) Cheap() bool { return d.cost == costConstant || d.cost == costScan }

// ExtraUnits is what a call costs with so many arguments, whatever they are, beside the one unit of every call.
func (d Declaration) ExtraUnits(args int) uint64 {
	if d.cost == costZone && args > 1 {
		return zoneUnits
	}
	return 0
}

// ChargedFor is the class by which a call costs what its arguments are long; false where it does not, or computes its cost itself.
func (d Declaration) ChargedFor() (CostClass, bool) { return d.cost, !d.Cheap() && !d.charges }

// declarations are those of all functions of the environment, by name.
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

// row is a line of a table of declarations: of functions that take the same.
type row struct {
	functions names
	cost      CostClass
	bytes     bound
	longest   int
	limits    func(args ...ref.Val) ref.Val
}

type names []string

// within makes a call of a function refuse, before it does anything, what its
// declaration does not allow.
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

// refuse is the error of arguments that are not allowed; nil for all others.
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

// Units is what it costs to work on an argument.
func (c CostClass) Units(val ref.Val) uint64 {
	switch v := val.(type) {
	case types.String:
		return uint64(len(v)) / BytesPerUnit
	case types.Bytes:
		return uint64(len(v)) / BytesPerUnit
	case traits.MutableLister, traits.MutableMapper: // what a loop gathers
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

// pairUnits is what it costs to compare all values of a list with one another. Texts
// and ints are not compared, but found by hash.
func pairUnits(list traits.Lister) uint64 {
	if _, items := scalarsOf(list); len(items) > 0 {
		return 0
	}
	left := maxPairs
	value.CountParts(list, &left)
	parts := uint64(maxPairs - max(left, 0))                                  //nolint:gosec // It is not negative.
	return min(uint64(value.ListLength(list))*parts, maxPairs) / BytesPerUnit //nolint:gosec // As above.
}
