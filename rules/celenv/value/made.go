package value

import (
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
)

// madeMap is a map that merge made. Its values are those of the arguments,
// JSON or CEL's own, which are shared and only read. It is a jsonMap in all but
// what ToJSON may take for granted.
type madeMap struct {
	jsonMap
	// entries is how many entries of other maps it took to make it, for the meter.
	entries uint64
}

// Entries is how many entries of other maps it took to make a map of MadeFrom; 0 for every other value.
func Entries(val ref.Val) uint64 {
	if m, ok := val.(*madeMap); ok {
		return m.entries
	}
	return 0
}

// withBytes makes values of CEL's own of the maps and lists that have such values in them,
// and reports whether there were any.
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

// Made makes one value of the rendered fields of a map, which can be a ref.Val each.
func Made(fields map[string]any) ref.Val { return MadeFrom(fields, 0) }

// MadeFrom is Made for a map that took so many entries of others to make.
func MadeFrom(fields map[string]any, entries uint64) ref.Val {
	return &madeMap{jsonMap: jsonMap{fields: fields}, entries: entries}
}

// MadeList is Made for the items of a list.
func MadeList(items []any) ref.Val { return types.NewDynamicList(Adapter{}, items) }
