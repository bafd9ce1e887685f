package value

import (
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
)

// madeMap is a map that merge or a template made. Its values can be JSON or values of CEL. They are shared and only
// read. It behaves as a jsonMap, but ToJSON must convert its values.
type madeMap struct {
	jsonMap
	// entries is the number of entries of other maps that were read to make it, for the meter.
	entries uint64
}

// Entries returns the number of entries of other maps that were read to make a map of MadeFrom; 0 for every other
// value.
func Entries(val ref.Val) uint64 {
	if m, ok := val.(*madeMap); ok {
		return m.entries
	}
	return 0
}

// withBytes converts the maps and lists that contain values of CEL to values of CEL, and reports whether there were
// any.
func withBytes(val any) (out any, mixed bool) {
	switch v := val.(type) {
	case ref.Val:
		return v, true
	case map[string]any:
		fields := make(map[string]any, len(v))
		for name, field := range v {
			inner, own := withBytes(field)
			fields[name], mixed = inner, mixed || own
		}
		if mixed {
			return Made(fields), true
		}
	case []any:
		items := make([]any, len(v))
		for i, item := range v {
			inner, own := withBytes(item)
			items[i], mixed = inner, mixed || own
		}
		if mixed {
			return MadeList(items), true
		}
	}
	return val, false
}

// Made returns a map of rendered fields, each of which can be JSON or a ref.Val.
func Made(fields map[string]any) ref.Val { return MadeFrom(fields, 0) }

// MadeFrom is Made for a map for which so many entries of other maps were read.
func MadeFrom(fields map[string]any, entries uint64) ref.Val {
	return &madeMap{jsonMap: jsonMap{fields: fields}, entries: entries}
}

// MadeList is Made for the items of a list.
func MadeList(items []any) ref.Val { return types.NewDynamicList(Adapter{}, items) }
