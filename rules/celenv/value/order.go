package value

import (
	"cmp"
	"slices"
	"strings"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
)

// SortedKeys returns a map's keys: numbers by value, then text, then bools.
func SortedKeys(m traits.Mapper) []ref.Val {
	var keys []ref.Val
	for it := m.Iterator(); it.HasNext() == types.True; {
		keys = append(keys, it.Next())
	}
	slices.SortFunc(keys, compareKeys)
	return keys
}

func compareKeys(a, b ref.Val) int {
	if rank := cmp.Compare(keyRank(a), keyRank(b)); rank != 0 {
		return rank
	}
	if c, ok := a.(traits.Comparer); ok {
		if order, ok := c.Compare(b).(types.Int); ok {
			return int(order)
		}
	}
	return strings.Compare(types.Format(a), types.Format(b))
}

// keyRank orders the types of keys.
func keyRank(key ref.Val) int {
	switch key.(type) {
	case types.Int, types.Uint, types.Double:
		return 0
	case types.String:
		return 1
	}
	return 2
}
