package celenv

import (
	"encoding/base64"
	"errors"
	"time"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"k8s.io/kube-openapi/pkg/validation/strfmt"

	"kanon.dev/kanon/restmapping/openapi"
)

// JSON has no bytes: a field with format: byte has base64. In an expression it is bytes, as in Kubernetes' own CEL, and
// bytes that an expression returns are written as base64. Maps and lists of such fields know where the bytes in them
// are, so that they stay bytes in merge, in a loop or in a variable. They are decoded only when they are read.

// ErrTextForBytes is the error for text in a field with format: byte, ErrBytesForText for bytes in a text field, and
// ErrBytesInText for bytes between other text.
var (
	ErrTextForBytes = errors.New("it must be bytes, and this gives text; write bytes(…), or base64.decode(…) where the text is base64")
	ErrBytesForText = errors.New("it must be text, and this gives bytes; write string(…)")
	ErrBytesInText  = errors.New("bytes cannot be part of text; write string(…)")
)

// isText reports whether values of a schema can be text, and never bytes.
func isText(s *openapi.Schema) bool {
	return s != nil && (s.Type == openapi.String && s.Format != openapi.FormatByte || s.Type == openapi.IntOrString)
}

// at returns the schema of an object's field, or of a map's value; nil if it is not known.
func at(s *openapi.Schema, name string) *openapi.Schema {
	below, _ := s.At(name)
	return below
}

// itemOf returns the schema of a list's items; nil if it is not known.
func itemOf(s *openapi.Schema) *openapi.Schema {
	if s == nil || s.Type != openapi.List {
		return nil
	}
	return s.Items
}

// Decode decodes base64. It returns the bytes, or an error value.
func Decode(text string) ref.Val {
	data, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return types.WrapErr(&ReadError{Reason: ReasonFormat, Found: "no base64"})
	}
	return types.Bytes(data)
}

// encoded knows where in a JSON value base64 encodes bytes.
type encoded struct {
	schema *openapi.Schema
	// decode decodes the base64. It returns the bytes, or an error value.
	decode func(text string) ref.Val
	// typed is true if times, durations and doubles are converted by the schema, too.
	typed bool
}

func (e *encoded) of(schema *openapi.Schema) *encoded {
	return &encoded{schema: schema, decode: e.decode, typed: e.typed}
}

func (e *encoded) field(name string) *encoded { return e.of(at(e.schema, name)) }

func (e *encoded) item() *encoded { return e.of(itemOf(e.schema)) }

// value converts a JSON value for an expression. Other values of CEL stay unchanged.
func (e *encoded) value(val any) ref.Val {
	if e.schema == nil {
		return Adapter{}.NativeToValue(val)
	}
	switch v := val.(type) {
	case types.String:
		val = string(v)
	case types.Int:
		val = int64(v)
	case *jsonMap:
		if v.encoded == nil {
			val = v.fields
		}
	case *jsonList:
		if v.encoded == nil {
			val = v.items
		}
	}
	switch v := val.(type) {
	case string:
		if e.schema.IsBytes() {
			return e.decode(v)
		}
		if e.typed && e.schema.Type == openapi.String {
			return formatted(v, e.schema.Format)
		}
	case int64:
		if e.typed && e.schema.Type == openapi.Number {
			return types.Double(v)
		}
	case map[string]any:
		return &jsonMap{fields: v, encoded: e}
	case []any:
		return &jsonList{items: v, encoded: e}
	}
	return Adapter{}.NativeToValue(val)
}

// Encoded converts a JSON value in which base64 encodes bytes where the schema says so. It may return an error value.
func Encoded(val any, schema *openapi.Schema, decode func(text string) ref.Val) ref.Val {
	return (&encoded{schema: schema, decode: decode}).value(val)
}

// Typed is Encoded, but it also converts text to times and durations, and numbers to doubles, by the schema. Rules read
// such fields in the same way.
func Typed(val any, schema *openapi.Schema) ref.Val {
	return (&encoded{schema: schema, decode: Decode, typed: true}).value(val)
}

// formatted converts text in a format of a schema. It may return an error value.
func formatted(text, format string) ref.Val {
	switch format {
	case openapi.FormatTime, openapi.FormatDate:
		t, err := ParseTime(text)
		if err != nil {
			return types.WrapErr(&ReadError{Reason: ReasonFormat, Text: text, Found: NoTime})
		}
		return types.Timestamp{Time: t}
	case openapi.FormatDuration:
		d, err := strfmt.ParseDuration(text)
		if err != nil {
			return types.WrapErr(&ReadError{Reason: ReasonFormat, Text: text, Found: NoDuration})
		}
		return types.Duration{Duration: d}
	}
	return types.String(text)
}

// ParseTime parses text in the format date-time or date.
func ParseTime(text string) (time.Time, error) {
	if t, err := time.Parse(strfmt.RFC3339FullDate, text); err == nil {
		return t, nil
	}
	t, err := strfmt.ParseDateTime(text)
	return time.Time(t).UTC(), err
}
