package run

import (
	"errors"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/cel-go/interpreter"
	"k8s.io/kube-openapi/pkg/validation/strfmt"

	"kanon.dev/kanon/kinds/openapi"
	"kanon.dev/kanon/rules/celenv"
	"kanon.dev/kanon/rules/celenv/value"
)

// bytesRead is a read of a value in which base64 stands for bytes where the schema says so.
type bytesRead struct{ schema *openapi.Schema }

func (r bytesRead) convert(vars interpreter.Activation, id int64, val any) (any, error) {
	var decoder value.Decoder
	if b := budgetOf(interpreter.AsFrame(vars)); b != nil {
		decoder = b
	}
	read := value.Encoded(val, r.schema, decoder)
	if failed, ok := read.(*types.Err); ok {
		if missed, ok := errors.AsType[*value.ReadError](failed); ok {
			return nil, &value.ReadError{NodeID: id, Reason: missed.Reason, Found: missed.Found}
		}
		return nil, failed
	}
	return read, nil
}

// Conversion is what a value of JSON becomes in an expression, by the schema of the
// field that it is read from.
type Conversion uint8

const (
	// ToTimestamp is for text in the format date-time, or date.
	ToTimestamp Conversion = iota + 1
	// ToDuration is for text in the format duration.
	ToDuration
	// ToDouble is for a number that has no fraction in one object and has in
	// the next.
	ToDouble
	// ListOf is added for a list of what means the rest.
	ListOf Conversion = 1 << 7
)

// ConversionTo is what values of JSON must be made for a type; false for types of
// which they are.
func ConversionTo(t *types.Type) (Conversion, bool) {
	switch t.Kind() {
	case types.TimestampKind:
		return ToTimestamp, true
	case types.DurationKind:
		return ToDuration, true
	case types.DoubleKind:
		return ToDouble, true
	case types.ListKind:
		m, ok := ConversionTo(t.Parameters()[0])
		return m | ListOf, ok && m&ListOf == 0
	default:
		return 0, false
	}
}

// converter makes of a value of JSON what it is in an expression. vars are those of the
// evaluation.
type converter interface {
	convert(vars interpreter.Activation, id int64, val any) (any, error)
}

// convert is what a value means. One that is of another type than the schema says
// stays as it is, as what CEL computed does.
func (m Conversion) convert(_ interpreter.Activation, id int64, val any) (any, error) {
	if m&ListOf != 0 {
		return (m &^ ListOf).items(id, val)
	}
	if v, ok := val.(ref.Val); ok {
		switch v := v.(type) {
		case types.String:
			val = string(v)
		case types.Int:
			val = int64(v)
		}
	}
	switch v := val.(type) {
	case string:
		return m.ofText(id, v)
	case int64:
		if m == ToDouble {
			return float64(v), nil
		}
	}
	return val, nil
}

// items is a list of which each item is what it means.
func (m Conversion) items(id int64, val any) (any, error) {
	list, ok := value.Adapter{}.NativeToValue(val).(traits.Lister)
	if !ok {
		return val, nil
	}
	var out []ref.Val
	for it := list.Iterator(); it.HasNext() == types.True; {
		item, err := m.convert(nil, id, it.Next())
		if err != nil {
			return nil, err
		}
		out = append(out, value.Adapter{}.NativeToValue(item))
	}
	return types.NewRefValList(value.Adapter{}, out), nil
}

func (m Conversion) ofText(id int64, text string) (any, error) {
	switch m {
	case ToTimestamp:
		t, err := value.ParseTime(text)
		if err != nil {
			return nil, &value.ReadError{NodeID: id, Reason: value.ReasonFormat, Text: text, Found: value.NoTime}
		}
		return types.Timestamp{Time: t}, nil
	case ToDuration:
		d, err := strfmt.ParseDuration(text)
		if err != nil {
			return nil, &value.ReadError{NodeID: id, Reason: value.ReasonFormat, Text: text, Found: value.NoDuration}
		}
		return types.Duration{Duration: d}, nil
	}
	return text, nil
}

// conversions are the reads whose values are not what JSON has of them.
func (o *Options) conversions() map[int64]converter {
	out := make(map[int64]converter, len(o.Conversions)+len(o.Encoded))
	for id, m := range o.Conversions {
		out[id] = m
	}
	for id, s := range o.Encoded {
		out[id] = bytesRead{schema: s}
	}
	return out
}

// convertingFactory makes the attributes of an expression in which values of JSON
// mean something else at some of the nodes.
type convertingFactory struct {
	*factory
	conversions map[int64]converter
}

// NewQualifier makes one step of a path.
func (f *convertingFactory) NewQualifier(objType *types.Type, id int64, val any, opt bool) (interpreter.Qualifier, error) {
	q, err := f.factory.NewQualifier(objType, id, val, opt)
	if m, ok := f.conversions[id]; ok && err == nil {
		return &convertedStep{Qualifier: q, conversion: m}, nil
	}
	return q, err
}

// RelativeAttribute makes a path that starts at the value of an expression, or
// an index that is one.
func (f *convertingFactory) RelativeAttribute(id int64, operand interpreter.Interpretable) interpreter.Attribute {
	r := &relative{Attribute: f.AttributeFactory.RelativeAttribute(id, operand)}
	r.converter = f.conversions[id]
	return r
}

// convertedStep is a step of a path whose value means something else.
type convertedStep struct {
	interpreter.Qualifier
	conversion converter
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

// convertedNames gives what names mean that stand alone, such as those of a loop.
func convertedNames(root ast.Expr, conversions map[int64]converter) interpreter.PlannerOption {
	names := map[int64]bool{}
	for e := range celenv.All(root) {
		names[e.ID()] = e.Kind() == ast.IdentKind
	}
	return decorate(func(i interpreter.InterpretableV2) exec {
		m, ok := conversions[i.ID()]
		if _, isName := i.(interpreter.InterpretableAttribute); !ok || !isName || !names[i.ID()] {
			return nil
		}
		return func(frame *interpreter.ExecutionFrame) ref.Val {
			val := i.Exec(frame)
			if types.IsUnknownOrError(val) {
				return val
			}
			converted, err := m.convert(frame, i.ID(), val)
			if err != nil {
				return types.WrapErr(err)
			}
			return value.Adapter{}.NativeToValue(converted)
		}
	})
}
