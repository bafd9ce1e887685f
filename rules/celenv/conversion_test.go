package celenv

import (
	"testing"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/interpreter"
)

// A read whose value means something else gives that when it is computed with,
// in all spellings, and says when the text does not say it.
func TestConversions(t *testing.T) {
	t.Parallel()
	env, err := Shared()
	if err != nil {
		t.Fatal(err)
	}
	vars := map[string]any{"o": map[string]any{
		"time": "2026-01-31T13:00:00+01:00", "day": "2026-01-31", "span": "90s", "number": int64(2), "bad": "soon",
		"times": []any{"2026-01-31T12:00:00Z"}, "key": "time",
	}}
	for text, tt := range map[string]struct {
		to    *types.Type
		fails bool
	}{
		`o.time.getHours() == 12`:                                             {to: types.TimestampType},
		`o["time"].getHours() == 12`:                                          {to: types.TimestampType},
		`o[o.key].getHours() == 12`:                                           {to: types.TimestampType},
		`o[string(o.key)].getHours() == 12`:                                   {to: types.TimestampType},
		`o.?time.orValue(timestamp("2020-01-01T00:00:00Z")).getHours() == 12`: {to: types.TimestampType},
		`o.?none.orValue(timestamp("2020-01-01T00:00:00Z")).getHours() == 0`:  {to: types.TimestampType},
		`o.day.getDate() == 31`:                                               {to: types.TimestampType},
		`o.span.getSeconds() == 90`:                                           {to: types.DurationType},
		`math.round(o.number) == 2.0`:                                         {to: types.DoubleType},
		`timestamp("2026-01-31T12:00:00Z") in o.times`:                        {to: types.NewListType(types.TimestampType)},
		`o.bad.getHours() == 12`:                                              {to: types.TimestampType, fails: true},
		`o.bad.getSeconds() == 12`:                                            {to: types.DurationType, fails: true},
	} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			x, issues := env.Compile(text, Scope{"o"})
			if len(issues) > 0 {
				t.Fatal(issues)
			}
			conversions := map[int64]Conversion{}
			for _, e := range x.Nodes() {
				if isReadOf(e, "o") && x.Source(e) != "o.key" {
					conversions[e.ID()] = Conversion{Schema: ConversionTo(tt.to), Typed: true}
				}
			}
			p, issues := NewProgram(x, Options{Conversions: conversions})
			if len(issues) > 0 {
				t.Fatal(issues)
			}
			activation, err := interpreter.NewActivation(vars)
			if err != nil {
				t.Fatal(err)
			}
			val, err := p.Eval(t.Context(), activation)
			switch {
			case tt.fails != (err != nil):
				t.Errorf("got %v, %v", val, err)
			case err == nil && (val != types.True):
				t.Errorf("got %v", val)
			}
		})
	}
}

// isReadOf reports whether a node reads a field of a name.
func isReadOf(e ast.Expr, name string) bool {
	var operand ast.Expr
	switch e.Kind() {
	case ast.SelectKind:
		operand = e.AsSelect().Operand()
	case ast.CallKind:
		if fn := e.AsCall().FunctionName(); fn != operators.Index && fn != operators.OptSelect {
			return false
		}
		operand = e.AsCall().Args()[0]
	default:
		return false
	}
	return operand.Kind() == ast.IdentKind && operand.AsIdent() == name
}
