package celenv

import (
	"errors"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/cel-go/interpreter"

	"kanon.dev/kanon/restmapping/openapi"
)

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
	var out ref.Val
	switch {
	case c.Typed && c.Schema.Type == openapi.List:
		return Conversion{Schema: c.Schema.Items, Typed: true}.items(vars, id, val)
	case c.Typed:
		out = Typed(val, c.Schema)
	default:
		decode := Decode
		if b := budgetOf(interpreter.AsFrame(vars)); b != nil {
			decode = b.Decode
		}
		out = Encoded(val, c.Schema, decode)
	}
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
