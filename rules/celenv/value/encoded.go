package value

import (
	"encoding/base64"
	"errors"
	"time"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"k8s.io/kube-openapi/pkg/validation/strfmt"

	"kanon.dev/kanon/kinds/openapi"
)

// JSON has no bytes: a field with format: byte holds base64. In an expression it is bytes, as in
// Kubernetes' own CEL, and bytes that an expression gives are written as base64. Maps and lists
// of such fields remember where in them the bytes are, so that they stay bytes in merge, in a
// loop or in a variable, and are decoded only when one is read.

// ErrTextForBytes is the error of text that goes into a field with format: byte,
// ErrBytesForText that of bytes that go into a field for text, and ErrBytesInText that of
// bytes between other text.
var (
	ErrTextForBytes = errors.New("it must be bytes, and this gives text; write bytes(…), or base64.decode(…) where the text is base64")
	ErrBytesForText = errors.New("it must be text, and this gives bytes; write string(…)")
	ErrBytesInText  = errors.New("bytes cannot be part of text; write string(…)")
)

// isText reports whether values of a schema are text, or may be, and never bytes.
func isText(s *openapi.Schema) bool {
	return s != nil && (s.Type == openapi.String && s.Format != openapi.FormatByte || s.Type == openapi.IntOrString)
}

// at is the schema of a field of an object, or of a value of a map; nil where it is not known.
func at(s *openapi.Schema, name string) *openapi.Schema {
	below, _ := s.At(name)
	return below
}

// itemOf is the schema of a list's items; nil where it is not known.
func itemOf(s *openapi.Schema) *openapi.Schema {
	if s == nil || s.Type != openapi.List {
		return nil
	}
	return s.Items
}

// Decoder gives the bytes of base64.
type Decoder interface {
	// Decode decodes a text; an error is a value.
	Decode(text string) ref.Val
}

// Decode gives the bytes of base64; an error is a value.
func Decode(text string) ref.Val {
	data, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return types.WrapErr(&ReadError{Reason: ReasonFormat, Found: "no base64"})
	}
	return types.Bytes(data)
}

// encoded says of a value of JSON where base64 in it stands for bytes.
type encoded struct {
	schema *openapi.Schema
	// decoder decodes it. nil: nobody counts what is decoded.
	decoder Decoder
	// typed is true if the scalars that the schema says to be times, durations and doubles are such, too.
	typed bool
}

func (e *encoded) of(schema *openapi.Schema) *encoded {
	return &encoded{schema: schema, decoder: e.decoder, typed: e.typed}
}

func (e *encoded) field(name string) *encoded { return e.of(at(e.schema, name)) }

func (e *encoded) item() *encoded { return e.of(itemOf(e.schema)) }

// value is the value in an expression. What CEL made stays as it is.
func (e *encoded) value(val any) ref.Val {
	if e.schema == nil {
		return Adapter{}.NativeToValue(val)
	}
	switch v := val.(type) {
	case types.String:
		val = string(v)
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
			if e.decoder == nil {
				return Decode(v)
			}
			return e.decoder.Decode(v)
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

// Encoded is a value of JSON in which base64 stands for bytes where a schema says so; an error is a value.
func Encoded(val any, schema *openapi.Schema, decoder Decoder) ref.Val {
	return (&encoded{schema: schema, decoder: decoder}).value(val)
}

// Typed is Encoded, and text in the format of a time or of a duration is one, and a number a double, as where rules read these fields.
func Typed(val any, schema *openapi.Schema) ref.Val {
	return (&encoded{schema: schema, typed: true}).value(val)
}

// formatted is text in a format of a schema; an error is a value.
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

// ParseTime reads text in the format date-time or date.
func ParseTime(text string) (time.Time, error) {
	if t, err := time.Parse(strfmt.RFC3339FullDate, text); err == nil {
		return t, nil
	}
	t, err := strfmt.ParseDateTime(text)
	return time.Time(t).UTC(), err
}
