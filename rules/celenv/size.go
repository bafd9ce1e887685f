package celenv

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
func TextLength(val ref.Val) int64 { return int64(textLength(val)) }

// CountParts subtracts the number of values in a value, itself included, from left. It stops below 0, and reports
// whether left sufficed.
func CountParts(val any, left *int) bool {
	*left--
	return *left >= 0 && eachPart(val, func(_, _ int64, part any) bool { return CountParts(part, left) })
}

// measure is CountParts that also subtracts the bytes of texts and keys.
func measure(val any, left *int) bool {
	*left -= 1 + textLength(val)
	return *left >= 0 && eachPart(val, func(_, key int64, part any) bool {
		*left -= int(key)
		return measure(part, left)
	})
}

// textLength is TextLength for a value that can be JSON.
func textLength(val any) int {
	switch v := val.(type) {
	case string:
		return len(v)
	case types.String:
		return len(v)
	case types.Bytes:
		return len(v)
	}
	return 0
}

// eachPart calls do for the values directly in a value, each with the bytes of its place and of its key. It stops if do
// returns false, and reports whether it visited all.
func eachPart(val any, do func(place, key int64, part any) bool) bool {
	switch v := val.(type) {
	case map[string]any:
		for name, field := range v {
			if !do(EntryBytes, int64(len(name)), field) {
				return false
			}
		}
	case []any:
		for _, item := range v {
			if !do(ItemBytes, 0, item) {
				return false
			}
		}
	case *jsonMap:
		return do(0, 0, v.fields)
	case *madeMap:
		return do(0, 0, v.fields)
	case *jsonList:
		return do(0, 0, v.items)
	case *types.Optional:
		return !v.HasValue() || do(0, 0, v.GetValue())
	case traits.Mapper:
		for it := v.Iterator(); it.HasNext() == types.True; {
			key := it.Next()
			if field, _ := v.Find(key); !do(EntryBytes+ValueBytes, TextLength(key), field) {
				return false
			}
		}
	case traits.Lister:
		for it := v.Iterator(); it.HasNext() == types.True; {
			if !do(ItemBytes, 0, it.Next()) {
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
	case types.String, types.Bytes:
		return ValueBytes + TextLength(v)
	case traits.MutableLister: // the accumulator of a loop: each iteration adds an item
		return 2 * ItemBytes
	case traits.MutableMapper:
		return 2 * EntryBytes
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
	if *left -= ValueBytes + int64(textLength(val)); *left >= 0 {
		eachPart(val, func(place, key int64, part any) bool {
			if *left -= place + key; *left >= 0 {
				Occupies(part, left)
			}
			return *left >= 0
		})
	}
}
