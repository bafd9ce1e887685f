package value

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
)

// SortedKeys returns a map's keys: numbers by value, then text, then bools and others by how they are written.
func SortedKeys(m traits.Mapper) []ref.Val {
	var keys []ref.Val
	for it := m.Iterator(); it.HasNext() == types.True; {
		keys = append(keys, it.Next())
	}
	slices.SortFunc(keys, compareKeys)
	return keys
}

func compareKeys(a, b ref.Val) int {
	rank := keyRank(a)
	if order := cmp.Compare(rank, keyRank(b)); order != 0 {
		return order
	}
	if rank == rankNumber || rank == rankText {
		order, _ := a.(traits.Comparer).Compare(b).(types.Int) // no error: the types can be compared, and no number is NaN
		return int(order)
	}
	return strings.Compare(types.Format(a), types.Format(b))
}

// The types of keys, in their order.
const (
	rankNaN = iota
	rankNumber
	rankText
	rankOther
)

func keyRank(key ref.Val) int {
	switch v := key.(type) {
	case types.Double:
		if math.IsNaN(float64(v)) {
			return rankNaN
		}
		return rankNumber
	case types.Int, types.Uint:
		return rankNumber
	case types.String:
		return rankText
	}
	return rankOther
}
