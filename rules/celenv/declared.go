package celenv

import (
	"fmt"
	"strings"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/functions"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/cel-go/interpreter"
)

// costClass is how what a call takes grows with its arguments.
type costClass uint8

const (
	// costConstant: it does not grow.
	costConstant costClass = iota + 1
	// costGlance: text is looked at once, at the speed of memory. It costs nothing.
	costGlance
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


// declaration says of a function, and of each way to call it, what a call takes. One
// call cannot be interrupted, so both are known before it is made. A function that is
// not declared cannot be in the environment: a test compares the two.
type declaration struct {
	cost costClass
	// bytes is the most that the value takes that a call gives.
	bytes bound
	// longest is the longest text that an argument can be. 0: any.
	longest int
	// limits refuses arguments that the bounds do not allow. nil: none.
	limits func(args ...ref.Val) ref.Val
	// charges is true for a function that says itself what a call costs.
	charges bool
	// overloads are the ids of the ways to call it.
	overloads []string
}

// bound is how many bytes a value takes at the most. What it shares with the
// arguments of the call is not counted.
type bound struct {
	// fixed is the part that does not depend on the arguments.
	fixed int64
	// of is the other part. nil: there is none.
	of func(args []ref.Val) int64
}

// maxCall is how many bytes one call may make at the most. What text functions make
// for an object has a stricter bound, maxText.
const maxCall = 16 << 20

// most is the bound for these arguments.
func (b bound) most(args []ref.Val) int64 {
	if b.of == nil {
		return b.fixed
	}
	return b.fixed + b.of(args)
}

// makes reports whether the values are as long as the arguments let them be.
func (d declaration) makes() bool { return d.bytes.of != nil }

// makesMuch reports whether a value can take more than a little.
func (d declaration) makesMuch() bool { return d.makes() || d.bytes.fixed > little().fixed }

// isCheap reports whether the function may be called in an expression whose cost is not metered.
func (d declaration) isCheap() bool { return d.cost == costConstant || d.cost == costGlance }

// extraUnits is what a call costs with so many arguments, whatever they are, beside the one unit of every call.
func (d declaration) extraUnits(args int) uint64 {
	if d.cost == costZone && args > 1 {
		return zoneUnits
	}
	return 0
}

// chargedFor is the class by which a call costs what its arguments are long; false where it does not, or says itself what it costs.
func (d declaration) chargedFor() (costClass, bool) { return d.cost, !d.isCheap() && !d.charges }

// bounds of values.
func little() bound { return bound{fixed: 2 * valueBytes} }

// partOf is the bound of what is one of the arguments, or a part of one.
func partOf() bound { return little() }

// atMost is the bound of what has a length of its own.
func atMost(bytes int64) bound { return bound{fixed: valueBytes + bytes} }

// texts is the bound of what is so many times as long as all texts among the
// arguments together.
func texts(times int64) bound {
	return bound{fixed: 2 * valueBytes, of: func(args []ref.Val) int64 {
		total := int64(0)
		for _, arg := range args {
			total += textLength(arg)
		}
		return times * total
	}}
}

// lists is the bound of a list that has as many items as all lists among the
// arguments together; the items are those of the arguments.
func lists() bound {
	return bound{fixed: valueBytes, of: func(args []ref.Val) int64 {
		total := int64(0)
		for _, arg := range args {
			total += length(arg)
		}
		return (itemBytes + valueBytes) * total
	}}
}

func textLength(val ref.Val) int64 {
	switch v := val.(type) {
	case types.String:
		return int64(len(v))
	case types.Bytes:
		return int64(len(v))
	}
	return 0
}

// declarations are those of all functions of the environment, by name.
func declarations() map[string]declaration {
	all := map[string]declaration{}
	for _, table := range [][]row{coreFunctions(), conversions(), textFunctions(), listFunctions(), optionalFunctions(), numberFunctions(), kubernetesFunctions()} {
		for _, r := range table {
			all[r.function] = declaration{cost: r.cost, bytes: r.bytes, longest: r.longest, limits: r.limits, overloads: strings.Fields(r.overloads)}
		}
	}
	for _, fn := range ownFunctions() {
		d := declaration{cost: fn.class, bytes: fn.bytes, longest: fn.longest, limits: fn.limits, charges: fn.cost != nil}
		for _, s := range fn.signatures {
			d.overloads = append(d.overloads, s.id)
		}
		all[fn.name] = d
	}
	return all
}

// row is a line of a table of declarations.
type row struct {
	function  string
	cost      costClass
	bytes     bound
	longest   int
	limits    func(args ...ref.Val) ref.Val
	overloads string
}

// within makes a call of a function refuse, before it does anything, what its
// declaration does not allow.
func (d declaration) within(name string, b *functions.Overload) *functions.Overload {
	if d.limits == nil && d.longest == 0 && !d.makes() {
		return b
	}
	bounded := *b
	if op := b.Unary; op != nil {
		bounded.Unary = func(val ref.Val) ref.Val {
			if err := d.tooLong(name, val); err != nil {
				return err
			}
			if d.limits == nil && !d.makes() {
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
func (d declaration) refuse(name string, args ...ref.Val) ref.Val {
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
	if d.makes() && d.bytes.most(args) > maxCall {
		return types.NewErr("%s could give more than %d bytes", name, maxCall)
	}
	return nil
}

func (d declaration) tooLong(name string, arg ref.Val) ref.Val {
	if d.longest > 0 && textLength(arg) > int64(d.longest) {
		return types.NewErr("%s takes at most %d bytes", name, d.longest)
	}
	return nil
}

// Table has the functions of the environment: Kanon's own, and of each what a call takes. It is immutable.
type Table struct {
	own      map[string]*function
	declared map[string]declaration
}

// NewTable makes the table, which is the same each time.
func NewTable() *Table {
	t := &Table{own: map[string]*function{}, declared: declarations()}
	for _, fn := range ownFunctions() {
		fn.declared = t.declared[fn.name]
		t.own[fn.name] = fn
	}
	return t
}

// Own is one of Kanon's own functions; nil for every other name.
func (t *Table) Own(name string) *function { return t.own[name] }

// Declared is what a call of a function takes; the zero declaration for an unknown name.
func (t *Table) Declared(name string) declaration { return t.declared[name] }

// undeclared lists what the declarations lack of an environment, and what they have
// too much.
func undeclared(all map[string]declaration, overloads map[string][]string) []string {
	var wrong []string
	for function, ids := range overloads {
		known := map[string]bool{}
		for _, id := range all[function].overloads {
			known[id] = true
		}
		for _, id := range ids {
			if !known[id] {
				wrong = append(wrong, fmt.Sprintf("%s, as %s, is not declared", function, id))
			}
			delete(known, id)
		}
		for id := range known {
			wrong = append(wrong, fmt.Sprintf("%s is declared as %s, and cannot be called like that", function, id))
		}
		if d := all[function]; len(d.overloads) > 0 && (d.cost == 0 || d.bytes.fixed == 0) {
			wrong = append(wrong, function+" is declared without a cost class or a bound of bytes")
		}
	}
	for function := range all {
		if _, ok := overloads[function]; !ok {
			wrong = append(wrong, function+" is declared, and there is no such function")
		}
	}
	return wrong
}

// chargedArguments are the arguments, by node, of calls that cost what they read.
func chargedArguments(root ast.Expr, table *Table) map[int64]costClass {
	read := map[int64]costClass{}
	note := func(e ast.Expr, class costClass) {
		if e.Kind() != ast.LiteralKind { // it is what it is, and patterns are compiled
			read[e.ID()] = class
		}
	}
	ast.PreOrderVisit(root, ast.NewExprVisitor(func(e ast.Expr) {
		if e.Kind() != ast.CallKind {
			return
		}
		call := e.AsCall()
		class, charged := table.Declared(call.FunctionName()).chargedFor()
		if !charged {
			return
		}
		if call.IsMemberFunction() {
			note(call.Target(), class)
		}
		for _, arg := range call.Args() {
			note(arg, class)
		}
	}))
	return read
}

// readNode is an argument of a call that costs what it reads. The cost is charged
// before the call.
type readNode struct {
	interpreter.InterpretableV2
	class costClass
}

func (n *readNode) Eval(vars interpreter.Activation) ref.Val {
	return n.Exec(interpreter.AsFrame(vars))
}

func (n *readNode) Exec(frame *interpreter.ExecutionFrame) ref.Val {
	return chargeRead(frame, n.class, n.InterpretableV2.Exec(frame))
}

// readPath is a readNode that is a path.
type readPath struct {
	interpreter.InterpretableAttribute
	class costClass
}

func (n *readPath) Eval(vars interpreter.Activation) ref.Val {
	return n.Exec(interpreter.AsFrame(vars))
}

func (n *readPath) Exec(frame *interpreter.ExecutionFrame) ref.Val {
	return chargeRead(frame, n.class, n.InterpretableAttribute.Exec(frame))
}

// chargeRead charges what it costs to work on an argument, and gives it.
func chargeRead(frame *interpreter.ExecutionFrame, class costClass, val ref.Val) ref.Val {
	if units := class.units(val); units > 0 {
		charge(frame, units)
	}
	return val
}

// units is what it costs to work on an argument.
func (c costClass) units(val ref.Val) uint64 {
	switch v := val.(type) {
	case types.String:
		return uint64(len(v)) / bytesPerUnit
	case types.Bytes:
		return uint64(len(v)) / bytesPerUnit
	case traits.MutableLister, traits.MutableMapper: // what a loop gathers
	case traits.Lister:
		units := uint64(length(v)) //nolint:gosec // It is not negative.
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
// and ints are not compared, but looked up.
func pairUnits(list traits.Lister) uint64 {
	if _, _, scalar := scalarsOf(list); scalar {
		return 0
	}
	left := maxPairs
	fewParts(list, &left)
	parts := uint64(maxPairs - max(left, 0))                        //nolint:gosec // It is not negative.
	return min(uint64(length(list))*parts, maxPairs) / bytesPerUnit //nolint:gosec // As above.
}
