package value

import (
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
)

// ListLength returns the number of items of a list; 0 for every other value.
func ListLength(val ref.Val) int64 {
	list, ok := val.(traits.Lister)
	if !ok {
		return 0
	}
	size, _ := list.Size().(types.Int)
	return int64(size)
}

// TextLength returns the length in bytes of text or bytes; 0 for every other value.
func TextLength(val ref.Val) int64 {
	switch v := val.(type) {
	case types.String:
		return int64(len(v))
	case types.Bytes:
		return int64(len(v))
	}
	return 0
}

// CountParts subtracts the number of values in a value, itself included, from left. It stops below 0, and reports
// whether left sufficed.
func CountParts(val any, left *int) bool {
	*left--
	return *left >= 0 && eachPart(val, func(_ int64, part any) bool { return CountParts(part, left) })
}

// eachPart calls do for the values directly in a value, each with the bytes of its place. It stops if do returns false,
// and reports whether it visited all.
func eachPart(val any, do func(place int64, part any) bool) bool {
	switch v := val.(type) {
	case map[string]any:
		for name, field := range v {
			if !do(EntryBytes+int64(len(name)), field) {
				return false
			}
		}
	case []any:
		for _, item := range v {
			if !do(ItemBytes, item) {
				return false
			}
		}
	case *jsonMap:
		return do(0, v.fields)
	case *madeMap:
		return do(0, v.fields)
	case *jsonList:
		return do(0, v.items)
	case *types.Optional:
		return !v.HasValue() || do(0, v.GetValue())
	case traits.Mapper:
		for it := v.Iterator(); it.HasNext() == types.True; {
			key := it.Next()
			if field, _ := v.Find(key); !do(EntryBytes+ValueBytes+TextLength(key), field) {
				return false
			}
		}
	case traits.Lister:
		for it := v.Iterator(); it.HasNext() == types.True; {
			if !do(ItemBytes, it.Next()) {
				return false
			}
		}
	}
	return true
}

// The approximate size in bytes of a value, of an item's place in a list, and of an entry's place in a map, without
// their content.
const (
	ValueBytes = 32
	ItemBytes  = 24
	EntryBytes = 96
)

// MadeBytes returns the approximate size in bytes of the result of a call or a literal, without what it shares with
// other values.
func MadeBytes(val ref.Val) int64 {
	switch v := val.(type) {
	case types.String:
		return ValueBytes + int64(len(v))
	case types.Bytes:
		return ValueBytes + int64(len(v))
	case traits.MutableLister: // the accumulator of a loop: each iteration adds an item
		return 2 * ItemBytes
	case traits.MutableMapper:
		return 2 * EntryBytes
	case *madeMap:
		return ValueBytes + EntryBytes*int64(v.entries) //nolint:gosec // maxMerged at the most.
	case traits.Lister:
		return ValueBytes + (ItemBytes+ValueBytes)*ListLength(v)
	case traits.Mapper:
		size, _ := v.Size().(types.Int)
		return ValueBytes + EntryBytes*int64(size)
	}
	return ValueBytes
}

// Retained returns how many of the bytes that an expression made its value still occupies. It is at most made, since the
// rest of the value is shared with what existed before.
func Retained(val ref.Val, made int64) int64 {
	if val == nil {
		return 0
	}
	left := made
	Occupies(val, &left)
	return made - max(left, 0)
}

// Occupies subtracts the size of a value from left, and stops below 0.
func Occupies(val any, left *int64) {
	*left -= ValueBytes
	switch v := val.(type) {
	case string:
		*left -= int64(len(v))
	case types.String:
		*left -= int64(len(v))
	case types.Bytes:
		*left -= int64(len(v))
	default:
		if *left < 0 {
			return
		}
		eachPart(val, func(place int64, part any) bool {
			if *left -= place; *left >= 0 {
				Occupies(part, left)
			}
			return *left >= 0
		})
	}
}
