package celenv

import (
	"github.com/google/cel-go/common/functions"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
)

// withSets gives distinct and the set functions a way of their own for lists of
// nothing but texts, or of nothing but ints: cel-go compares every item with every
// other, whatever they are.
func withSets(b *functions.Overload) *functions.Overload {
	quick := *b
	switch b.Operator {
	case "distinct", "list_distinct":
		op := b.Unary
		if op == nil {
			return b
		}
		quick.Unary = func(val ref.Val) ref.Val {
			if out := distinctScalars(val); out != nil {
				return out
			}
			return op(val)
		}
	case "sets.contains", "list_sets_contains_list":
		quick.Binary = setRelation(b.Binary, containsAll)
	case "sets.equivalent", "list_sets_equivalent_list":
		quick.Binary = setRelation(b.Binary, func(a, b scalars) bool { return containsAll(a, b) && containsAll(b, a) })
	case "sets.intersects", "list_sets_intersects_list":
		quick.Binary = setRelation(b.Binary, func(a, b scalars) bool {
			for item := range b {
				if a[item] {
					return true
				}
			}
			return false
		})
	default:
		return b
	}
	return &quick
}

// scalars are texts, or ints.
type scalars map[ref.Val]bool

// scalarsOf are the items of a list, in the order in which they come first; false
// where they are not all of one of the types that scalars can have.
func scalarsOf(val ref.Val) (set scalars, order []ref.Val, ok bool) {
	list, ok := val.(traits.Lister)
	if !ok || length(list) > maxScalars {
		return nil, nil, false
	}
	set = make(scalars, length(list))
	for it := list.Iterator(); it.HasNext() == types.True; {
		item := it.Next()
		switch item.(type) {
		case types.String, types.Int:
		default: // a double can equal an int
			return nil, nil, false
		}
		if len(order) > 0 && item.Type() != order[0].Type() {
			return nil, nil, false
		}
		if !set[item] {
			set[item], order = true, append(order, item)
		}
	}
	return set, order, true
}

func distinctScalars(list ref.Val) ref.Val {
	_, order, ok := scalarsOf(list)
	if !ok || len(order) == 0 {
		return nil
	}
	return types.NewRefValList(adapter{}, order)
}

func containsAll(a, b scalars) bool {
	for item := range b {
		if !a[item] {
			return false
		}
	}
	return true
}

// setRelation asks about two lists of scalars of one type, and leaves all others to
// cel-go.
func setRelation(op functions.BinaryOp, holds func(a, b scalars) bool) functions.BinaryOp {
	if op == nil {
		return nil
	}
	return func(lhs, rhs ref.Val) ref.Val {
		a, aOrder, ok := scalarsOf(lhs)
		if !ok || len(aOrder) == 0 {
			return op(lhs, rhs)
		}
		b, bOrder, ok := scalarsOf(rhs)
		if !ok || len(bOrder) == 0 || aOrder[0].Type() != bOrder[0].Type() {
			return op(lhs, rhs)
		}
		return types.Bool(holds(a, b))
	}
}
