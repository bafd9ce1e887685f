package celenv

import (
	"errors"

	"github.com/google/cel-go/common/functions"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
)

// maxPairs is how many pairs of items one call of a function may compare: about
// a second's work, which nothing can interrupt.
const maxPairs = 10_000_000

// withinBounds refuses calls of library functions that would take far longer
// than the meter, which looks at what comes out, can know beforehand.
func withinBounds(b *functions.Overload) *functions.Overload {
	check := boundOf(b.Operator)
	if check == nil {
		return b
	}
	bounded := *b
	if op := b.Unary; op != nil {
		bounded.Unary = func(val ref.Val) ref.Val {
			if err := check(val); err != nil {
				return err
			}
			return op(val)
		}
	}
	if op := b.Binary; op != nil {
		bounded.Binary = func(lhs, rhs ref.Val) ref.Val {
			if err := check(lhs, rhs); err != nil {
				return err
			}
			return op(lhs, rhs)
		}
	}
	if op := b.Function; op != nil {
		bounded.Function = func(args ...ref.Val) ref.Val {
			if err := check(args...); err != nil {
				return err
			}
			return op(args...)
		}
	}
	return &bounded
}

// boundOf is the check of a function's arguments, nil where there is none.
func boundOf(operator string) func(args ...ref.Val) ref.Val {
	switch operator {
	case "distinct", "list_distinct":
		return func(args ...ref.Val) ref.Val { return fewPairs("distinct", args[0], args[0]) }
	case "sets.contains", "list_sets_contains_list", "sets.equivalent", "list_sets_equivalent_list",
		"sets.intersects", "list_sets_intersects_list":
		return func(args ...ref.Val) ref.Val {
			if len(args) != 2 {
				return nil
			}
			return fewPairs("this set function", args[0], args[1])
		}
	case "format", "string_format":
		return func(args ...ref.Val) ref.Val {
			if len(args) != 2 {
				return nil
			}
			p := &plainer{left: maxText, most: maxText}
			if _, err := p.value(args[1], 0); errors.As(err, new(tooLongError)) {
				return types.NewErr("format: %v", err)
			}
			return nil
		}
	}
	return nil
}

// fewPairs is an error where two lists have too many pairs of items.
func fewPairs(name string, a, b ref.Val) ref.Val {
	m, n := length(a), length(b)
	if m > 0 && n > maxPairs/m {
		return types.NewErr("%s would compare more than %d pairs of items", name, maxPairs)
	}
	return nil
}

func length(val ref.Val) int64 {
	list, ok := val.(traits.Lister)
	if !ok {
		return 0
	}
	size, _ := list.Size().(types.Int)
	return int64(size)
}
