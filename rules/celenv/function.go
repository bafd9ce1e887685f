package celenv

import (
	"fmt"
	"slices"
	"time"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"
)

// Table has Kanon's own functions, and the declarations of all functions of the environment. It is immutable.
type Table struct {
	own      map[string]*Function
	declared map[string]Declaration
}

// NewTable returns the table. All tables are equal.
func NewTable() *Table {
	t := &Table{own: map[string]*Function{}, declared: declarations()}
	for _, fn := range ownFunctions() {
		t.own[fn.name] = fn
	}
	return t
}

// Own returns one of Kanon's own functions; nil for every other name.
func (t *Table) Own(name string) *Function { return t.own[name] }

// Declared returns the declaration of a function; the zero value for an unknown name.
func (t *Table) Declared(name string) Declaration { return t.declared[name] }

// ownFunctions returns all of Kanon's own functions. optionalIf is a macro and not among them.
func ownFunctions() []*Function {
	all := slices.Concat(mergeFunctions(), jsonFunctions(), yamlFunctions(), nameFunctions(), statusFunctions(), timeFunctions(),
		cronFunctions(), randomFunctions())
	for _, fn := range all {
		fn.declared.charges = fn.cost != nil
	}
	return all
}

// Wait is a duration from now on, greater than 0.
type Wait time.Duration

// Function is one of Kanon's own functions. Its value depends only on its arguments, except where within is set.
type Function struct {
	name       string
	signatures []signature
	// call computes the value. The arguments are neither errors nor unknown. They can have any type where the checker did
	// not know their types.
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

// Call calls the function within its bounds. frame resolves names of the activation.
func (f *Function) Call(frame *interpreter.ExecutionFrame, args []ref.Val) ref.Val {
	if err := f.declared.refuse(f.name, args...); err != nil {
		return err
	}
	if f.within != nil {
		return f.within(frame, args)
	}
	return f.call(args)
}

// Cost returns the cost of a call in addition to the one unit of every call.
func (f *Function) Cost(args []ref.Val, result ref.Val) uint64 {
	if f.cost == nil {
		return 0
	}
	return f.cost(args, result)
}

// ChangesIn returns after how long the value of a call changes; false if it never does. speeds says for each argument
// by how many seconds it grows in a second.
func (f *Function) ChangesIn(args []ref.Val, speeds []int) (Wait, bool) {
	if f.change == nil {
		return 0, false
	}
	return f.change(args, speeds)
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

// signature is one overload of a function.
type signature struct {
	id     string
	member bool
	args   []*cel.Type
	result *cel.Type
}

// declare returns the declaration for the checker. It has no implementation: a program calls Function.Call.
func (s signature) declare() cel.FunctionOpt {
	if s.member {
		return cel.MemberOverload(s.id, s.args, s.result)
	}
	return cel.Overload(s.id, s.args, s.result)
}

// ownLibrary declares Kanon's own functions and macros.
func ownLibrary() cel.EnvOption {
	return func(env *cel.Env) (*cel.Env, error) {
		env, err := cel.Macros(optionalIfMacro())(env)
		if err != nil {
			return nil, fmt.Errorf("declare optionalIf: %w", err)
		}
		for _, fn := range ownFunctions() {
			overloads := make([]cel.FunctionOpt, len(fn.signatures))
			for i, s := range fn.signatures {
				overloads[i] = s.declare()
			}
			if env, err = cel.Function(fn.name, overloads...)(env); err != nil {
				return nil, fmt.Errorf("declare %s: %w", fn.name, err)
			}
		}
		return env, nil
	}
}

// maxArguments bounds the arguments of a function that takes any number. CEL has no variadic functions, so each number
// of arguments is a signature of its own.
const maxArguments = 8

// anyNumber returns the signatures of a function that takes least to maxArguments arguments of one type.
func anyNumber(name string, least int, arg, result *cel.Type) []signature {
	var all []signature
	for n := least; n <= maxArguments; n++ {
		all = append(all, signature{id: fmt.Sprintf("kanon_%s_%d", name, n), args: slices.Repeat([]*cel.Type{arg}, n), result: result})
	}
	return all
}

// typeError returns the error of an argument whose type the checker did not know.
func typeError(function string, position int, wants string, got ref.Val) ref.Val {
	return types.NewErr("argument %d of %s must be %s, and is %s", position, function, wants, TypeText(got))
}
