package function

import (
	"fmt"
	"slices"
	"time"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"

	"kanon.dev/kanon/rules/celenv/value"
)

// Wait is a time from now: more than none.
type Wait time.Duration

// Function is one of Kanon's own functions. It reads nothing but its
// arguments, apart from random.
type Function struct {
	name       string
	signatures []signature
	// call computes the value. The arguments are neither errors nor unknown;
	// where the checker did not know their types, they are of any.
	call func(args []ref.Val) ref.Val
	// within computes the value in place of call where it depends on what the
	// activation gives; nil: it does not.
	within func(frame *interpreter.ExecutionFrame, args []ref.Val) ref.Val
	// class is how the time of a call grows with its arguments, and bytes is the most
	// that the value takes which it gives. longest is the longest text that an argument
	// can be; 0: any.
	class   CostClass
	bytes   bound
	longest int
	// limits refuses arguments that the bounds do not allow; nil: none.
	limits func(args ...ref.Val) ref.Val
	// cost is what a call costs beside the one unit of every call, of its
	// arguments and what came of them; nil: nothing.
	cost func(args []ref.Val, result ref.Val) uint64
	// change is, for a function of a time, how long after the time that it was
	// given the value changes; false where it never does. moving says which of
	// the arguments go with the clock, and times which of them may.
	times  []int
	change func(args []ref.Val, moving []int) (Wait, bool)

	declared Declaration
}

// Call calls the function within its bounds; frame resolves what the activation gives.
func (f *Function) Call(frame *interpreter.ExecutionFrame, args []ref.Val) ref.Val {
	if err := f.declared.refuse(f.name, args...); err != nil {
		return err
	}
	if f.within != nil {
		return f.within(frame, args)
	}
	return f.call(args)
}

// Cost is what a call costs beside the one unit of every call.
func (f *Function) Cost(args []ref.Val, result ref.Val) uint64 {
	if f.cost == nil {
		return 0
	}
	return f.cost(args, result)
}

// ChangesIn is after how long the value of a call changes whose arguments grow by so many seconds in a second each;
// false where it never does.
func (f *Function) ChangesIn(args []ref.Val, speeds []int) (Wait, bool) {
	if f.change == nil {
		return 0, false
	}
	return f.change(args, speeds)
}

// ChangesAt is Env.ChangesAt for one function; nil: for one that is not Kanon's own.
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

// signature is one way to call a function.
type signature struct {
	id     string
	member bool
	args   []*cel.Type
	result *cel.Type
}

func (s signature) declare(fn *Function) cel.FunctionOpt {
	var binding cel.OverloadOpt
	switch len(s.args) {
	case 1:
		binding = cel.UnaryBinding(func(val ref.Val) ref.Val { return fn.call([]ref.Val{val}) })
	case 2:
		binding = cel.BinaryBinding(func(lhs, rhs ref.Val) ref.Val { return fn.call([]ref.Val{lhs, rhs}) })
	default:
		binding = cel.FunctionBinding(func(args ...ref.Val) ref.Val { return fn.call(args) })
	}
	if s.member {
		return cel.MemberOverload(s.id, s.args, s.result, binding)
	}
	return cel.Overload(s.id, s.args, s.result, binding)
}

// maxArguments is how many arguments a function takes that takes any number:
// CEL has no such thing, so each number is a signature of its own.
const maxArguments = 8

// anyNumber are the signatures of a function of least to maxArguments
// arguments of one type.
func anyNumber(name string, least int, arg, result *cel.Type) []signature {
	var all []signature
	args := make([]*cel.Type, 0, maxArguments)
	for len(args) < maxArguments {
		args = append(args, arg)
		if n := len(args); n >= least {
			all = append(all, signature{id: fmt.Sprintf("kanon_%s_%d", name, n), args: args[:n:n], result: result})
		}
	}
	return all
}

// typeError is the error of an argument that the checker could not see.
func typeError(function string, position int, wants string, got ref.Val) ref.Val {
	return types.NewErr("argument %d of %s must be %s, and is %s", position, function, wants, value.TypeText(got))
}
