package value

import (
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
)

// ListLength is how many items a list has; 0 for every other value.
func ListLength(val ref.Val) int64 {
	list, ok := val.(traits.Lister)
	if !ok {
		return 0
	}
	size, _ := list.Size().(types.Int)
	return int64(size)
}

// TextLength is how many bytes text or bytes have; 0 for every other value.
func TextLength(val ref.Val) int64 {
	switch v := val.(type) {
	case types.String:
		return int64(len(v))
	case types.Bytes:
		return int64(len(v))
	}
	return 0
}

// CountParts counts the values in a value down from left, and reports whether that
// was enough.
func CountParts(val any, left *int) bool {
	*left--
	return *left >= 0 && eachPart(val, func(_ int64, part any) bool { return CountParts(part, left) })
}

// eachPart calls do with the values right in a value, each with the bytes that its place takes. It ends where do returns false,
// and reports whether it came to the end.
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

// About how many bytes every value takes, an item in a list and an entry in a map, without what they hold.
const (
	ValueBytes = 32
	ItemBytes  = 24
	EntryBytes = 96
)

// MadeBytes is about how many bytes a value takes that a call or a literal has made,
// without what it shares with others.
func MadeBytes(val ref.Val) int64 {
	switch v := val.(type) {
	case types.String:
		return ValueBytes + int64(len(v))
	case types.Bytes:
		return ValueBytes + int64(len(v))
	case traits.MutableLister: // what a loop gathers: each turn adds an item
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

// Held is how many bytes a value holds of those that its expression has made: all of
// them at the most, since the value may share the others with what was there before.
func Held(val ref.Val, made int64) int64 {
	if val == nil {
		return 0
	}
	left := made
	Occupies(val, &left)
	return made - max(left, 0)
}

// Occupies counts the bytes of a value down from left, and ends where none are left.
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
