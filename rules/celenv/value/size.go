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
	if *left--; *left < 0 {
		return false
	}
	switch v := val.(type) {
	case map[string]any:
		for _, field := range v {
			if !CountParts(field, left) {
				return false
			}
		}
	case []any:
		for _, item := range v {
			if !CountParts(item, left) {
				return false
			}
		}
	case *jsonMap:
		return CountParts(v.fields, left)
	case *jsonList:
		return CountParts(v.items, left)
	case *types.Optional:
		return !v.HasValue() || CountParts(v.GetValue(), left)
	case traits.Mapper:
		for it := v.Iterator(); it.HasNext() == types.True; {
			field, _ := v.Find(it.Next())
			if !CountParts(field, left) {
				return false
			}
		}
	case traits.Lister:
		for it := v.Iterator(); it.HasNext() == types.True; {
			if !CountParts(it.Next(), left) {
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
	if *left -= ValueBytes; *left < 0 {
		return
	}
	switch v := val.(type) {
	case string:
		*left -= int64(len(v))
	case types.String:
		*left -= int64(len(v))
	case types.Bytes:
		*left -= int64(len(v))
	case map[string]any:
		for name, field := range v {
			if *left -= EntryBytes + int64(len(name)); *left < 0 {
				return
			}
			Occupies(field, left)
		}
	case []any:
		for _, item := range v {
			if *left -= ItemBytes; *left < 0 {
				return
			}
			Occupies(item, left)
		}
	case *jsonMap:
		Occupies(v.fields, left)
	case *madeMap:
		Occupies(v.fields, left)
	case *jsonList:
		Occupies(v.items, left)
	case *types.Optional:
		if v.HasValue() {
			Occupies(v.GetValue(), left)
		}
	case traits.Mapper:
		for it := v.Iterator(); *left >= 0 && it.HasNext() == types.True; {
			key := it.Next()
			field, _ := v.Find(key)
			*left -= EntryBytes
			Occupies(key, left)
			Occupies(field, left)
		}
	case traits.Lister:
		for it := v.Iterator(); *left >= 0 && it.HasNext() == types.True; {
			*left -= ItemBytes
			Occupies(it.Next(), left)
		}
	}
}
