package celenv

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"

	"kanon.dev/kanon/restmapping/openapi"
)

// ErrNoValue is the error of ToJSON for optional.none().
var ErrNoValue = errors.New("the value is optional.none()")

// maxParts is how many values a rendered value may contain: an object that etcd takes has far fewer. A value of CEL can
// contain another one many times, so it can be larger than any memory although it was cheap to compute.
const maxParts = 1_000_000

// ErrTooManyParts is the error of ToJSON for a value that contains too many values.
var ErrTooManyParts = fmt.Errorf("the value has more than %d parts", maxParts)

// ToJSON converts a value to JSON: nil, bool, int64, float64, string, []any, map[string]any. The result shares no
// memory with the value. ToJSON omits fields of maps that are null or optional.none(), and items of lists that are
// optional.none(). Bytes become base64, timestamps RFC 3339, durations text such as 1.5s. It returns an error for a
// value that JSON cannot represent, ErrTooManyParts for one of more than a million parts, and ErrNoValue for
// optional.none() itself.
func ToJSON(val ref.Val) (any, error) {
	left := maxParts
	return ToJSONWithin(val, Place{}, &left)
}

// Place is where the JSON of a value goes.
type Place struct {
	// Schema is the schema of the place; nil if it is not known. Text in a place for bytes is ErrTextForBytes, and bytes
	// in a place for text are ErrBytesForText.
	Schema *openapi.Schema
	// KeepsBytes is true for a value that expressions read again. If the value contains bytes, the result is then a
	// ref.Val in which they stay bytes.
	KeepsBytes bool
}

// ToJSONWithin is ToJSON for a value of at most *left parts. It subtracts the number of parts from *left.
func ToJSONWithin(val ref.Val, into Place, left *int) (any, error) {
	r := renderer{left: *left, keepsBytes: into.KeepsBytes}
	out, err := r.value(val, into.Schema)
	*left = max(r.left, 0)
	if r.kept {
		out, _ = withBytes(out)
	}
	return out, err
}

// renderer converts at most left values to JSON.
type renderer struct {
	left int
	// keepsBytes is Place.KeepsBytes. kept is true once there were bytes.
	keepsBytes, kept bool
	// whole is true for the JSON of a text: null stays, and JSON is not copied.
	whole bool
	// err is the error with which plain stopped.
	err error
}

// TooLongError is the error for a text of more than so many bytes.
type TooLongError int

func (e TooLongError) Error() string { return fmt.Sprintf("more than %d bytes", int(e)) }

// Plain converts a value to JSON for a text of at most so many bytes, for reading only. Unlike ToJSON, it keeps null,
// since the author wrote it. It returns a TooLongError for a value that is too long.
func Plain(val ref.Val, most int) (any, error) {
	if left := most; !measure(val, &left) {
		return nil, TooLongError(most)
	}
	r := renderer{left: math.MaxInt, whole: true}
	return r.value(val, nil)
}

// value converts a value for a place with the schema into.
func (r *renderer) value(val ref.Val, into *openapi.Schema) (any, error) {
	if r.left--; r.left < 0 {
		return nil, ErrTooManyParts
	}
	switch v := val.(type) {
	case types.String:
		if into.IsBytes() {
			return nil, ErrTextForBytes
		}
		return string(v), nil
	case types.Bytes:
		return r.bytes(v, into)
	case *types.Optional:
		if !v.HasValue() {
			return nil, ErrNoValue
		}
		return r.value(v.GetValue(), into)
	case *jsonMap:
		if v.encoded == nil || r.keepsBytes || into == nil || v.encoded.schema == into {
			return r.copied(v, v.fields, v.encoded, into)
		}
		return r.fields(v, into)
	case *jsonList:
		if v.encoded == nil || r.keepsBytes || into == nil || v.encoded.schema == into {
			return r.copied(v, v.items, v.encoded, into)
		}
		return r.items(v, into)
	case traits.Mapper:
		return r.fields(v, into)
	case traits.Lister:
		return r.items(v, into)
	}
	return scalarJSON(val)
}

// scalarJSON converts a value that has no parts and is neither text nor bytes.
func scalarJSON(val ref.Val) (any, error) {
	switch v := val.(type) {
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
	case types.Timestamp:
		return timestampText(v), nil
	case types.Duration:
		return DurationText(v), nil
	case *types.Err:
		return nil, v
	}
	return nil, fmt.Errorf("a value of type %s cannot be written into an object; make it a string with string(…)", val.Type().TypeName())
}

func (r *renderer) bytes(v types.Bytes, into *openapi.Schema) (any, error) {
	switch {
	case r.keepsBytes:
		r.kept = true
		return v, nil
	case isText(into):
		return nil, ErrBytesForText
	}
	return base64.StdEncoding.EncodeToString(v), nil
}

// copied copies the JSON that a value wraps. If the value contains encoded bytes, it stays as it is where bytes must
// stay bytes; elsewhere its JSON is base64 already.
func (r *renderer) copied(val ref.Val, plain any, bytes *encoded, into *openapi.Schema) (any, error) {
	if r.whole {
		return plain, nil
	}
	if bytes != nil {
		if r.keepsBytes {
			r.kept = true
			return val, nil
		}
		into = nil
	}
	out := r.plain(plain, into)
	switch {
	case r.err != nil:
		return nil, r.err
	case r.left < 0:
		return nil, ErrTooManyParts
	}
	return out, nil
}

func (r *renderer) fields(m traits.Mapper, into *openapi.Schema) (any, error) {
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
		plain, err := r.value(val, at(into, string(name)))
		switch {
		case errors.Is(err, ErrNoValue) || err == nil && plain == nil && !r.whole:
			continue
		case errors.Is(err, ErrTooManyParts):
			return nil, err // the place where the bound was reached is no information
		case err != nil:
			return nil, fmt.Errorf("%s: %w", string(name), err)
		}
		out[string(name)] = plain
	}
	return out, nil
}

func (r *renderer) items(l traits.Lister, into *openapi.Schema) (any, error) {
	size, _ := l.Size().(types.Int)
	if int(size) > r.left {
		return nil, ErrTooManyParts
	}
	out := make([]any, 0, size)
	for i := range size {
		plain, err := r.value(l.Get(i), itemOf(into))
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

// ToText converts a value to text between other text: strings, ints, bools, whole doubles (without exponent),
// timestamps (RFC 3339) and durations. Everything else is an error.
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
		return DurationText(v), nil
	case *types.Err:
		return "", v
	case *types.Optional:
		return "", errors.New("an optional value cannot be part of text; take its value with orValue(…)")
	case types.Null:
		return "", errors.New("null cannot be part of text")
	case types.Bytes:
		return "", ErrBytesInText
	}
	return "", fmt.Errorf("%s cannot be part of text", TypeText(val))
}

func timestampText(t types.Timestamp) string { return t.UTC().Format(time.RFC3339Nano) }

// DurationText formats a duration as string(…) does in CEL.
func DurationText(d types.Duration) string {
	return strconv.FormatFloat(d.Seconds(), 'f', -1, 64) + "s"
}

// CopyJSON copies JSON without fields of maps that are null. Numbers of other types become int64 or float64.
func CopyJSON(val any) any {
	r := renderer{left: math.MaxInt}
	return r.plain(val, nil)
}

// plain copies JSON for a place with the schema into. The copy is incomplete if r.left is negative or r.err is set
// afterwards.
func (r *renderer) plain(val any, into *openapi.Schema) any {
	if r.left--; r.left < 0 {
		return nil
	}
	switch v := val.(type) {
	case map[string]any:
		return r.plainFields(v, into)
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			if out[i] = r.plain(item, itemOf(into)); r.err != nil {
				r.err = fmt.Errorf("item %d: %w", i, r.err)
				return nil
			}
		}
		return out
	case string:
		if into.IsBytes() {
			r.err = ErrTextForBytes
		}
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

func (r *renderer) plainFields(fields map[string]any, into *openapi.Schema) any {
	out := make(map[string]any, len(fields))
	for k, field := range fields {
		if field == nil {
			continue
		}
		if out[k] = r.plain(field, at(into, k)); r.err != nil {
			r.firstWrong(fields, into)
			return nil
		}
	}
	return out
}

// firstWrong sets r.err to the error of the first field by name that has one, so that the same value always gives the
// same error.
func (r *renderer) firstWrong(fields map[string]any, into *openapi.Schema) {
	for _, k := range slices.Sorted(maps.Keys(fields)) {
		again := renderer{left: math.MaxInt}
		if again.plain(fields[k], at(into, k)); again.err != nil {
			r.err = fmt.Errorf("%s: %w", k, again.err)
			return
		}
	}
}
