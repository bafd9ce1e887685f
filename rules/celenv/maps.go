package celenv

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
)

// AsMap returns a value, of JSON or of CEL, as a map.
func AsMap(val any) (traits.Mapper, bool) {
	m, ok := Adapter{}.NativeToValue(val).(traits.Mapper)
	return m, ok
}

// EachField calls do for the entries of a map. It skips entries that are optional.none().
func EachField(m traits.Mapper, do func(name string, val any) error) error {
	fields, ok := plainFields(m)
	if ok {
		for name, val := range fields {
			if err := do(name, val); err != nil {
				return err
			}
		}
		return nil
	}
	for it := m.Iterator(); it.HasNext() == types.True; {
		key := it.Next()
		name, ok := key.(types.String)
		if !ok {
			return fmt.Errorf("the keys must be strings, and one is %s", TypeText(key))
		}
		val, _ := m.Find(key)
		if opt, isOptional := val.(*types.Optional); isOptional {
			if !opt.HasValue() {
				continue
			}
			val = opt.GetValue()
		}
		if err := do(string(name), val); err != nil {
			return err
		}
	}
	return nil
}

// plainFields returns the fields of a map whose values need no conversion.
func plainFields(m traits.Mapper) (map[string]any, bool) {
	switch m := m.(type) {
	case *jsonMap:
		return m.fields, m.encoded == nil
	case *madeMap:
		return m.fields, true
	}
	return nil, false
}

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
