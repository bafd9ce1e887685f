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
	an, aRank := keyRank(a)
	bn, bRank := keyRank(b)
	switch as, _ := a.(types.String); {
	case aRank != bRank:
		return cmp.Compare(aRank, bRank)
	case aRank == 0:
		return cmp.Compare(an, bn)
	case aRank == 1:
		bs, _ := b.(types.String)
		return strings.Compare(string(as), string(bs))
	}
	return strings.Compare(types.Format(a), types.Format(b))
}

// keyRank orders the types of keys. number is the value of a number; the rank of numbers is 0.
func keyRank(key ref.Val) (number float64, rank int) {
	switch v := key.(type) {
	case types.Int:
		return float64(v), 0
	case types.Uint:
		return float64(v), 0
	case types.Double:
		return float64(v), 0
	case types.String:
		return 0, 1
	}
	return 0, 2
}
