package function

import (
	"github.com/google/cel-go/common/functions"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"k8s.io/apimachinery/pkg/util/sets"

	"kanon.dev/kanon/rules/celenv/value"
)

// withFastSets gives distinct and the set functions a fast path for lists of only texts or only ints. cel-go compares
// every item with every other, so lists of more than a thousand items would have to be refused.
func withFastSets(b *functions.Overload) *functions.Overload {
	fast := *b
	switch b.Operator {
	case "distinct", "list_distinct":
		if b.Unary != nil {
			fast.Unary = func(val ref.Val) ref.Val {
				if _, items := scalarsOf(val); len(items) > 0 {
					return types.NewRefValList(value.Adapter{}, items)
				}
				return b.Unary(val)
			}
		}
	case "sets.contains", "list_sets_contains_list":
		fast.Binary = setRelation(b.Binary, sets.Set[ref.Val].IsSuperset)
	case "sets.equivalent", "list_sets_equivalent_list":
		fast.Binary = setRelation(b.Binary, sets.Set[ref.Val].Equal)
	case "sets.intersects", "list_sets_intersects_list":
		fast.Binary = setRelation(b.Binary, func(a, b sets.Set[ref.Val]) bool { return a.Intersection(b).Len() > 0 })
	}
	return &fast
}

// scalarsOf returns the items of a list of only texts or only ints, each once, as a set and in order. It returns nil
// for every other list, and for one that is too long.
func scalarsOf(val ref.Val) (set sets.Set[ref.Val], order []ref.Val) {
	list, ok := val.(traits.Lister)
	if !ok || value.ListLength(list) > maxScalars {
		return nil, nil
	}
	set = make(sets.Set[ref.Val], value.ListLength(list))
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

// setRelation compares two lists of scalars of the same type by holds. It leaves all other lists to op, which is
// cel-go's.
func setRelation(op functions.BinaryOp, holds func(a, b sets.Set[ref.Val]) bool) functions.BinaryOp {
	if op == nil {
		return nil
	}
	return func(lhs, rhs ref.Val) ref.Val {
		a, aOrder := scalarsOf(lhs)
		b, bOrder := scalarsOf(rhs)
		if len(aOrder) == 0 || len(bOrder) == 0 || aOrder[0].Type() != bOrder[0].Type() {
			return op(lhs, rhs)
		}
		return types.Bool(holds(a, b))
	}
}
