package celenv

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
)

// ErrNoValue is what ToJSON gives for optional.none().
var ErrNoValue = errors.New("the value is optional.none()")

// maxParts is how many values one value that is rendered may have in it: an
// object that etcd takes has far fewer. A value of CEL can hold another many times
// over, so it can have more than fit any memory without having cost much.
const maxParts = 1_000_000

// ErrTooManyParts is what ToJSON gives for a value that has too many values in it.
var ErrTooManyParts = fmt.Errorf("the value has more than %d parts", maxParts)

// ToJSON makes plain JSON of a value: nil, bool, int64, float64, string,
// []any, map[string]any. The result shares no memory with the value. Fields
// that are null or optional.none() are left out of maps, items that are
// optional.none() out of lists. Bytes become base64, timestamps RFC 3339,
// durations text such as 1.5s. A value that JSON has no form for, and one of more
// than a million parts, is an error, and optional.none() itself is ErrNoValue.
func ToJSON(val ref.Val) (any, error) {
	left := maxParts
	return ToJSONWithin(val, &left)
}

// ToJSONWithin is ToJSON of a value with so many parts at the most; what it has is
// taken from left.
func ToJSONWithin(val ref.Val, left *int) (any, error) {
	r := renderer{left: *left}
	out, err := r.value(val)
	*left = max(r.left, 0)
	return out, err
}

// Length is how many items a list, or an optional one, has; false for what is none.
func Length(val ref.Val) (int, bool) {
	switch v := val.(type) {
	case *types.Optional:
		if v.HasValue() {
			return Length(v.GetValue())
		}
	case traits.Lister:
		size, _ := v.Size().(types.Int)
		return int(size), true
	}
	return 0, false
}

// Count is how many items Items gives; false where it gives none.
func Count(val ref.Val) (int, bool) {
	switch v := val.(type) {
	case *types.Optional:
		if v.HasValue() {
			return Count(v.GetValue())
		}
	case traits.Mapper:
		size, _ := v.Size().(types.Int)
		return int(size), true
	case traits.Lister:
		size, _ := v.Size().(types.Int)
		return int(size), true
	}
	return 0, false
}

// JSON is the map or list of JSON that a value stands for, to be read only; false
// where it stands for none and ToJSON must make one.
func JSON(val ref.Val) (any, bool) {
	switch v := val.(type) {
	case *jsonMap:
		return v.fields, true
	case *jsonList:
		return v.items, true
	}
	return nil, false
}

// renderer makes plain JSON of values, so many at the most.
type renderer struct {
	left int
}

func (r *renderer) value(val ref.Val) (any, error) {
	if r.left--; r.left < 0 {
		return nil, ErrTooManyParts
	}
	switch v := val.(type) {
	case types.String:
		return string(v), nil
	case types.Int:
		return int64(v), nil
	case types.Bool:
		return bool(v), nil
	case types.Null:
		return nil, nil
	case types.Double:
		if math.IsNaN(float64(v)) || math.IsInf(float64(v), 0) {
			return nil, fmt.Errorf("%v has no form in JSON", float64(v))
		}
		return float64(v), nil
	case types.Uint:
		if v > math.MaxInt64 {
			return nil, fmt.Errorf("%d does not fit an integer of 64 bits", uint64(v))
		}
		return int64(v), nil
	case types.Bytes:
		return base64.StdEncoding.EncodeToString(v), nil
	case types.Timestamp:
		return timestampText(v), nil
	case types.Duration:
		return durationText(v), nil
	case *types.Optional:
		if !v.HasValue() {
			return nil, ErrNoValue
		}
		return r.value(v.GetValue())
	case *jsonMap:
		return r.copied(v.fields)
	case *jsonList:
		return r.copied(v.items)
	case traits.Mapper:
		return r.fields(v)
	case traits.Lister:
		return r.items(v)
	case *types.Err:
		return nil, v
	}
	return nil, fmt.Errorf("a value of type %s cannot be written into an object; make it a string with string(…)", val.Type().TypeName())
}

// copied copies plain JSON.
func (r *renderer) copied(val any) (any, error) {
	out := r.plain(val)
	if r.left < 0 {
		return nil, ErrTooManyParts
	}
	return out, nil
}

func (r *renderer) fields(m traits.Mapper) (any, error) {
	size, _ := m.Size().(types.Int)
	if int(size) > r.left {
		return nil, ErrTooManyParts
	}
	out := make(map[string]any, size)
	for it := m.Iterator(); it.HasNext() == types.True; {
		key := it.Next()
		name, ok := key.(types.String)
		if !ok {
			text, err := ToText(key)
			if err != nil {
				return nil, fmt.Errorf("key of a map: %w", err)
			}
			name = types.String(text)
		}
		val, _ := m.Find(key)
		plain, err := r.value(val)
		switch {
		case errors.Is(err, ErrNoValue) || (err == nil && plain == nil):
			continue
		case errors.Is(err, ErrTooManyParts):
			return nil, err // where it became too many says nothing
		case err != nil:
			return nil, fmt.Errorf("%s: %w", string(name), err)
		}
		out[string(name)] = plain
	}
	return out, nil
}

func (r *renderer) items(l traits.Lister) (any, error) {
	size, _ := l.Size().(types.Int)
	if int(size) > r.left {
		return nil, ErrTooManyParts
	}
	out := make([]any, 0, size)
	for i := range size {
		plain, err := r.value(l.Get(i))
		switch {
		case errors.Is(err, ErrNoValue):
			continue
		case errors.Is(err, ErrTooManyParts):
			return nil, err
		case err != nil:
			return nil, fmt.Errorf("item %d: %w", int(i), err)
		}
		out = append(out, plain)
	}
	return out, nil
}

// ToText makes of a value the text that it stands for between other text:
// strings, ints, bools, whole doubles (without exponent), timestamps
// (RFC 3339) and durations. Everything else is an error.
func ToText(val ref.Val) (string, error) {
	switch v := val.(type) {
	case types.String:
		return string(v), nil
	case types.Int:
		return strconv.FormatInt(int64(v), 10), nil
	case types.Uint:
		return strconv.FormatUint(uint64(v), 10), nil
	case types.Bool:
		return strconv.FormatBool(bool(v)), nil
	case types.Double:
		f := float64(v)
		if math.Trunc(f) != f || math.IsInf(f, 0) {
			return "", fmt.Errorf("%v is not a whole number; say how to write it, such as with string(…) or math.round(…)", f)
		}
		return strconv.FormatFloat(f+0, 'f', -1, 64), nil // +0: no "-0"
	case types.Timestamp:
		return timestampText(v), nil
	case types.Duration:
		return durationText(v), nil
	case *types.Err:
		return "", v
	case *types.Optional:
		return "", errors.New("an optional value cannot stand in text; take its value with orValue(…)")
	case types.Null:
		return "", errors.New("null cannot stand in text")
	}
	return "", fmt.Errorf("%s cannot stand in text", TypeText(val))
}

func timestampText(t types.Timestamp) string { return t.UTC().Format(time.RFC3339Nano) }

// durationText is what string(…) makes of a duration in CEL.
func durationText(d types.Duration) string {
	return strconv.FormatFloat(d.Seconds(), 'f', -1, 64) + "s"
}

// CopyJSON copies plain JSON and leaves out of maps what is null. Other
// numbers than int64 and float64 become one of these.
func CopyJSON(val any) any {
	r := renderer{left: math.MaxInt}
	return r.plain(val)
}

// plain copies plain JSON; where r.left is negative afterwards, not all of it.
func (r *renderer) plain(val any) any {
	if r.left--; r.left < 0 {
		return nil
	}
	switch v := val.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, field := range v {
			if field != nil {
				out[k] = r.plain(field)
			}
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = r.plain(item)
		}
		return out
	case int:
		return int64(v)
	case int32:
		return int64(v)
	case float32:
		return float64(v)
	case json.Number:
		if i, err := v.Int64(); err == nil {
			return i
		}
		if f, err := v.Float64(); err == nil {
			return f
		}
		return v.String()
	}
	return val
}

// FromJSON makes a value of plain JSON without copying it.
func FromJSON(val any) ref.Val { return adapter{}.NativeToValue(val) }

// TypeText names the type of a value in a sentence: "a string", "an int".
func TypeText(val ref.Val) string {
	switch name := val.Type().TypeName(); name {
	case "null_type":
		return "null"
	case "int":
		return "an int"
	case "optional_type":
		return "an optional value"
	case "google.protobuf.Timestamp":
		return "a timestamp"
	case "google.protobuf.Duration":
		return "a duration"
	default:
		return "a " + name
	}
}

// Items are what a value gives to iterate over: the items of a list; of a map
// one map {key, value} for each entry, by key; nothing for null and for
// optional.none(). Everything else is an error, and so are more than a million
// items.
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
		keys := sortedKeys(v)
		items := make([]ref.Val, len(keys))
		for i, k := range keys {
			entry, _ := v.Find(k)
			items[i] = types.NewRefValMap(adapter{}, map[ref.Val]ref.Val{
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
