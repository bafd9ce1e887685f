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

// bytesRead converts the value of a read in which base64 encodes bytes where the schema says so.
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

// Conversion is how a JSON value is converted for an expression, by the schema of the field that it is read from.
type Conversion uint8

const (
	// ToTimestamp is for text in the format date-time, or date.
	ToTimestamp Conversion = iota + 1
	// ToDuration is for text in the format duration.
	ToDuration
	// ToDouble is for a number, which JSON decodes as an int if it has no fraction.
	ToDouble
	// ListOf is added for a list whose items need the conversion.
	ListOf Conversion = 1 << 7
)

// ConversionTo returns the conversion of JSON values for a type; false for types that need none.
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

// converter converts the JSON value of a read for an expression. id is the node, vars the activation of the evaluation.
type converter interface {
	convert(vars interpreter.Activation, id int64, val any) (any, error)
}

// convert implements converter. A value of another type than in the schema stays unchanged, and so does one that CEL
// computed.
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

// items converts each item of a list.
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

// conversions returns the conversions of reads, by node.
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

// convertingFactory makes the attributes of an expression in which some reads are converted.
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

// RelativeAttribute makes a path that starts at the value of an expression, or an index that is an expression.
func (f *convertingFactory) RelativeAttribute(id int64, operand interpreter.Interpretable) interpreter.Attribute {
	return &relative{Attribute: f.AttributeFactory.RelativeAttribute(id, operand), converter: f.conversions[id]}
}

// convertedStep is a step of a path whose value is converted.
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

// convertedNames converts the values of names that are not part of a path, such as those of a loop.
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
