package celenv

import (
	"encoding/base64"
	"errors"
	"reflect"
	"slices"
	"time"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/cel-go/interpreter"
	"k8s.io/kube-openapi/pkg/validation/strfmt"

	"kanon.dev/kanon/restmapping/openapi"
)

// Adapter converts Go values to CEL values. It wraps maps and lists of JSON without copying them.
type Adapter struct{}

// NativeToValue implements types.Adapter.
func (a Adapter) NativeToValue(value any) ref.Val {
	switch v := value.(type) {
	case ref.Val:
		return v
	case string:
		return types.String(v)
	case bool:
		return types.Bool(v)
	case int64:
		return types.Int(v)
	case float64:
		return types.Double(v)
	case nil:
		return types.NullValue
	case map[string]any:
		return &jsonMap{fields: v}
	case []any:
		return &jsonList{items: v}
	}
	return types.DefaultTypeAdapter.NativeToValue(value)
}

// jsonMap is a map of JSON that is iterated in the order of its keys.
type jsonMap struct {
	fields map[string]any
	// encoded knows where base64 in it encodes bytes; nil: nowhere.
	encoded *encoded
}

// plain returns the same map as a type of cel-go.
func (m *jsonMap) plain() traits.Mapper {
	if m.encoded == nil {
		return types.NewStringInterfaceMap(Adapter{}, m.fields)
	}
	fields := make(map[ref.Val]ref.Val, len(m.fields))
	for name, val := range m.fields {
		fields[types.String(name)] = m.field(name, val)
	}
	return types.NewRefValMap(Adapter{}, fields)
}

// field converts the value of a field for an expression.
func (m *jsonMap) field(name string, val any) ref.Val {
	if m.encoded == nil {
		return Adapter{}.NativeToValue(val)
	}
	return m.encoded.field(name).value(val)
}

func (m *jsonMap) Find(key ref.Val) (ref.Val, bool) {
	name, ok := key.(types.String)
	if !ok {
		return nil, false
	}
	val, ok := m.fields[string(name)]
	if !ok {
		return nil, false
	}
	return m.field(string(name), val), true
}

func (m *jsonMap) Get(key ref.Val) ref.Val {
	val, ok := m.Find(key)
	if !ok {
		return types.NewErr("no such key: %v", key)
	}
	return val
}

func (m *jsonMap) Contains(key ref.Val) ref.Val {
	_, ok := m.Find(key)
	return types.Bool(ok)
}

func (m *jsonMap) keys() []string {
	keys := make([]string, 0, len(m.fields))
	for k := range m.fields {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// Fold implements traits.Foldable, for the comprehensions of two variables.
func (m *jsonMap) Fold(f traits.Folder) {
	for _, k := range m.keys() {
		val := m.fields[k]
		if m.encoded != nil {
			val = m.field(k, val)
		}
		if !f.FoldEntry(k, val) {
			return
		}
	}
}

func (m *jsonMap) Iterator() traits.Iterator {
	return types.NewStringList(Adapter{}, m.keys()).Iterator()
}
func (m *jsonMap) Size() ref.Val     { return types.Int(len(m.fields)) }
func (m *jsonMap) IsZeroValue() bool { return len(m.fields) == 0 }
func (m *jsonMap) Type() ref.Type    { return types.MapType }
func (m *jsonMap) Value() any        { return m.fields }

func (m *jsonMap) Equal(other ref.Val) ref.Val { return m.plain().Equal(other) }

func (m *jsonMap) ConvertToNative(t reflect.Type) (any, error) { return m.plain().ConvertToNative(t) }

func (m *jsonMap) ConvertToType(t ref.Type) ref.Val {
	if t == types.MapType {
		return m
	}
	return m.plain().ConvertToType(t)
}

// jsonList is a list of JSON.
type jsonList struct {
	items []any
	// encoded knows where base64 in it encodes bytes; nil: nowhere.
	encoded *encoded
}

// plain returns the same list as a type of cel-go.
func (l *jsonList) plain() traits.Lister {
	if l.encoded == nil {
		return types.NewDynamicList(Adapter{}, l.items)
	}
	items := make([]ref.Val, len(l.items))
	for i := range items {
		items[i] = l.item(i)
	}
	return types.NewRefValList(Adapter{}, items)
}

// item converts an item for an expression.
func (l *jsonList) item(i int) ref.Val {
	if l.encoded == nil {
		return Adapter{}.NativeToValue(l.items[i])
	}
	return l.encoded.item().value(l.items[i])
}

func (l *jsonList) Get(index ref.Val) ref.Val {
	i, err := types.IndexOrError(index)
	if err != nil {
		return types.WrapErr(err)
	}
	if i < 0 || i >= len(l.items) {
		return types.NewErr("index %d is out of range: the list has %d items", i, len(l.items))
	}
	return l.item(i)
}

func (l *jsonList) Contains(elem ref.Val) ref.Val {
	for i := range l.items {
		if types.Equal(l.item(i), elem) == types.True {
			return types.True
		}
	}
	return types.False
}

// Fold implements traits.Foldable, for the comprehensions of two variables.
func (l *jsonList) Fold(f traits.Folder) {
	for i, item := range l.items {
		if l.encoded != nil {
			item = l.item(i)
		}
		if !f.FoldEntry(i, item) {
			return
		}
	}
}

func (l *jsonList) Iterator() traits.Iterator { return &listIterator{list: l} }
func (l *jsonList) Size() ref.Val             { return types.Int(len(l.items)) }
func (l *jsonList) IsZeroValue() bool         { return len(l.items) == 0 }
func (l *jsonList) Type() ref.Type            { return types.ListType }
func (l *jsonList) Value() any                { return l.items }

func (l *jsonList) Add(other ref.Val) ref.Val   { return l.plain().Add(other) }
func (l *jsonList) Equal(other ref.Val) ref.Val { return l.plain().Equal(other) }

func (l *jsonList) ConvertToNative(t reflect.Type) (any, error) { return l.plain().ConvertToNative(t) }

func (l *jsonList) ConvertToType(t ref.Type) ref.Val {
	if t == types.ListType {
		return l
	}
	return l.plain().ConvertToType(t)
}

// listIterator iterates over a list of JSON. No expression can have it as a value, so null implements ref.Val for it.
type listIterator struct {
	types.Null
	list *jsonList
	next int
}

func (it *listIterator) HasNext() ref.Val { return types.Bool(it.next < len(it.list.items)) }

func (it *listIterator) Next() ref.Val {
	it.next++
	return it.list.item(it.next - 1)
}

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

// Typed converts a JSON value by its schema as rules read fields: base64 to bytes, text to times and durations, and numbers
// to doubles. It may return an error value.
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

// ConversionTo returns the schema by which JSON values are converted for a type: text to times and durations, ints,
// which JSON decodes from a number without a fraction, to doubles, and the items of lists. It is nil for other types.
func ConversionTo(t *types.Type) *openapi.Schema {
	switch t.Kind() {
	case types.TimestampKind:
		return &openapi.Schema{Type: openapi.String, Format: openapi.FormatTime}
	case types.DurationKind:
		return &openapi.Schema{Type: openapi.String, Format: openapi.FormatDuration}
	case types.DoubleKind:
		return &openapi.Schema{Type: openapi.Number}
	case types.ListKind:
		if items := ConversionTo(t.Parameters()[0]); items != nil && items.Type != openapi.List {
			return &openapi.Schema{Type: openapi.List, Items: items}
		}
	}
	return nil
}

// Conversion converts the JSON value of a read for an expression.
type Conversion struct {
	Schema *openapi.Schema
	// Typed is true for a Schema of ConversionTo. Otherwise, base64 in the value encodes bytes where the schema says so.
	Typed bool
}

// convert converts the value of a node. vars is the activation of the evaluation. A value of another type than in the
// schema stays unchanged, and so does one that CEL computed.
func (c Conversion) convert(vars interpreter.Activation, id int64, val any) (any, error) {
	if c.Typed && c.Schema.Type == openapi.List {
		return Conversion{Schema: c.Schema.Items, Typed: true}.items(vars, id, val)
	}
	decode := Decode
	if b := budgetOf(interpreter.AsFrame(vars)); b != nil {
		decode = b.Decode
	}
	out := (&encoded{schema: c.Schema, decode: decode, typed: c.Typed}).value(val)
	if failed, ok := out.(*types.Err); ok {
		if missed, ok := errors.AsType[*ReadError](failed); ok {
			missed.NodeID = id
			return nil, missed
		}
		return nil, failed
	}
	return out, nil
}

// items converts each item of a list.
func (c Conversion) items(vars interpreter.Activation, id int64, val any) (any, error) {
	list, ok := Adapter{}.NativeToValue(val).(traits.Lister)
	if !ok {
		return val, nil
	}
	var out []ref.Val
	for it := list.Iterator(); it.HasNext() == types.True; {
		item, err := c.convert(vars, id, it.Next())
		if err != nil {
			return nil, err
		}
		out = append(out, Adapter{}.NativeToValue(item))
	}
	return types.NewRefValList(Adapter{}, out), nil
}

// convertedStep is a step of a path whose value is converted.
type convertedStep struct {
	interpreter.Qualifier
	conversion Conversion
}

func (s *convertedStep) Qualify(vars interpreter.Activation, obj any) (any, error) {
	val, err := s.Qualifier.Qualify(vars, obj)
	if err != nil {
		return nil, err
	}
	return s.conversion.convert(vars, s.ID(), val)
}

func (s *convertedStep) QualifyIfPresent(vars interpreter.Activation, obj any, presenceOnly bool) (any, bool, error) {
	val, present, err := s.Qualifier.QualifyIfPresent(vars, obj, presenceOnly)
	if err != nil || !present {
		return val, present, err
	}
	val, err = s.conversion.convert(vars, s.ID(), val)
	return val, err == nil, err
}

// convertedNames converts the values of names that are not part of a path, such as those of a loop.
func convertedNames(root ast.Expr, conversions map[int64]Conversion) interpreter.PlannerOption {
	names := map[int64]bool{}
	for e := range All(root) {
		names[e.ID()] = e.Kind() == ast.IdentKind
	}
	return decorate(func(i interpreter.InterpretableV2) exec {
		c, ok := conversions[i.ID()]
		if _, isName := i.(interpreter.InterpretableAttribute); !ok || !isName || !names[i.ID()] {
			return nil
		}
		return func(frame *interpreter.ExecutionFrame) ref.Val {
			val := i.Exec(frame)
			if types.IsUnknownOrError(val) {
				return val
			}
			converted, err := c.convert(frame, i.ID(), val)
			if err != nil {
				return types.WrapErr(err)
			}
			return Adapter{}.NativeToValue(converted)
		}
	})
}
