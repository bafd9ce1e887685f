package celenv

import (
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
)

// madeMap is a map that merge or a template made. Its values can be JSON or values of CEL. They are shared and only
// read. It behaves as a jsonMap, but ToJSON must convert its values.
type madeMap struct{ jsonMap }

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
func Made(fields map[string]any) ref.Val { return &madeMap{jsonMap{fields: fields}} }

// MadeList is Made for the items of a list.
func MadeList(items []any) ref.Val { return types.NewDynamicList(Adapter{}, items) }
