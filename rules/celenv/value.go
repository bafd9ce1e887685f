package celenv

import (
	"fmt"
	"strings"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
)

// Length returns the number of items of a list, or of an optional's list; false for any other value.
func Length(val ref.Val) (int, bool) {
	list, ok := present(val).(traits.Lister)
	if !ok {
		return 0, false
	}
	return int(ListLength(list)), true
}

// present returns the value of an optional that has one, and every other value unchanged.
func present(val ref.Val) ref.Val {
	if opt, ok := val.(*types.Optional); ok && opt.HasValue() {
		return present(opt.GetValue())
	}
	return val
}

// Count returns the number of items that Items returns for a list or a map; false for any other value.
func Count(val ref.Val) (int, bool) {
	switch v := present(val).(type) {
	case traits.Mapper:
		size, _ := v.Size().(types.Int)
		return int(size), true
	case traits.Lister:
		return int(ListLength(v)), true
	}
	return 0, false
}

// Parts returns the items of a list that ToJSONWithin returned; false for any other value.
func Parts(val any) ([]any, bool) {
	if items, ok := val.([]any); ok {
		return items, true
	}
	list, ok := val.(traits.Lister)
	if !ok {
		return nil, false
	}
	items := make([]any, ListLength(list))
	for i := range items {
		items[i] = list.Get(types.Int(i))
	}
	return items, true
}

// JSON returns the map or list of JSON that a value wraps, for reading only. It returns false if ToJSON must convert
// the value.
func JSON(val ref.Val) (any, bool) {
	switch v := val.(type) {
	case *jsonMap:
		return v.fields, v.encoded == nil
	case *jsonList:
		return v.items, v.encoded == nil
	}
	return nil, false
}

// FromJSON converts JSON to a value without copying it.
func FromJSON(val any) ref.Val { return Adapter{}.NativeToValue(val) }

// TypeText names the type of a value in a sentence: "a string", "an int".
func TypeText(val ref.Val) string {
	t, _ := val.Type().(*types.Type)
	return TypeWords(t)
}

// TypeWords names a type in a sentence: "a string", "an int".
func TypeWords(t *types.Type) string {
	name := t.TypeName()[strings.LastIndexByte(t.TypeName(), '.')+1:] // kubernetes.URL
	switch t.Kind() {
	case types.DynKind, types.AnyKind, types.ErrorKind, types.TypeParamKind:
		return "a value of any type"
	case types.IntKind, types.UintKind:
		return "an int"
	case types.BytesKind:
		return "bytes"
	case types.NullTypeKind:
		return "null"
	case types.TimestampKind, types.DurationKind:
		return "a " + strings.ToLower(name)
	case types.StructKind:
		if !IsKubernetes(t) {
			return "an object"
		}
	case types.OpaqueKind:
		if name == types.OptionalType.TypeName() {
			return "an optional value"
		}
	default:
	}
	return "a " + name
}

// IsKubernetes reports whether a type is that of values of Kubernetes' functions, such as quantity(…). Its library
// declares some of them as objects, but they have no fields.
func IsKubernetes(t *types.Type) bool { return strings.HasPrefix(t.TypeName(), "kubernetes.") }

// Items returns the items of a forEach over a value: the items of a list, or a map {key, value} for each entry of a
// map, sorted by key. null and optional.none() have no items. Any other value is an error, and so is a list of more
// than a million items.
func Items(val ref.Val) ([]ref.Val, error) {
	switch v := val.(type) {
	case types.Null:
		return nil, nil
	case *types.Optional:
		if !v.HasValue() {
			return nil, nil
		}
		return Items(v.GetValue())
	case traits.Mapper:
		keys := SortedKeys(v)
		items := make([]ref.Val, len(keys))
		for i, k := range keys {
			entry, _ := v.Find(k)
			items[i] = types.NewRefValMap(Adapter{}, map[ref.Val]ref.Val{
				types.String("key"): k, types.String("value"): entry,
			})
		}
		return items, nil
	case traits.Lister:
		size, _ := v.Size().(types.Int)
		if size > maxParts {
			return nil, fmt.Errorf("has %d items, and %d are the most", int64(size), maxParts)
		}
		items := make([]ref.Val, size)
		for i := range items {
			items[i] = v.Get(types.Int(i))
		}
		return items, nil
	}
	return nil, fmt.Errorf("needs a list or a map, and is %s", TypeText(val))
}
