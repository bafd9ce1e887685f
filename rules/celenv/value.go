package celenv

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
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

// Reason says why a read failed.
type Reason int

const (
	// ReasonMissing means that the key does not exist, or is null.
	ReasonMissing Reason = iota + 1
	// ReasonIndex means that the list has no such index.
	ReasonIndex
	// ReasonType means that the type of the value has no keys, or does not take keys of that type.
	ReasonType
	// ReasonFormat means that the value is text in the wrong format; Found says what it is not.
	ReasonFormat
)

// ReadError is the error for a field or an index that could not be read.
type ReadError struct {
	// NodeID is the select or index node of the expression.
	NodeID int64
	Reason Reason
	// Key is the field or index as text.
	Key string
	// Found is the CEL type of the value that was read from. Text is the value for ReasonFormat, if it may be shown.
	Found, Text string
	// Length is the length of the list, for ReasonIndex.
	Length int
}

// Error says what could not be read.
func (e *ReadError) Error() string {
	switch e.Reason {
	case ReasonFormat:
		return "the value is " + e.Found
	case ReasonIndex:
		return fmt.Sprintf("index %s is out of range: the list has %d items", e.Key, e.Length)
	case ReasonType:
		return fmt.Sprintf("%s cannot be read from a value of type %s", e.Key, e.Found)
	default:
		return fmt.Sprintf("key %s does not exist", e.Key)
	}
}

// UnfitError is the error for text that a function such as int() cannot convert. CEL's own errors do not name the text.
type UnfitError struct {
	// Text is the argument of the function.
	Text string
	// Found says what the text is, such as "no integer".
	Found string
}

// Error quotes the text, shortened.
func (e *UnfitError) Error() string {
	const most = 80
	text := []rune(e.Text)
	if len(text) <= most {
		return strconv.Quote(e.Text) + " is " + e.Found
	}
	return strconv.Quote(string(text[:most])) + "… is " + e.Found
}

// Descriptions of text that is not a time or not a duration.
const (
	NoTime     = "no time, such as 2026-01-31T12:00:00Z"
	NoDuration = "no duration, such as 90s or 1h30m"
)
