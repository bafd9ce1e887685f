package check

import (
	"testing"

	"github.com/google/cel-go/common/types"

	"kanon.dev/kanon/restmapping/openapi"
)

// Does a field take what an expression gives, and if not, what would the author write?
func TestMisfit(t *testing.T) {
	t.Parallel()
	text, number := &openapi.Schema{Type: openapi.String}, &openapi.Schema{Type: openapi.Integer}
	data := &openapi.Schema{Type: openapi.String, Format: openapi.FormatByte}
	port := &openapi.Schema{Type: openapi.IntOrString}
	quantity := &openapi.Schema{Type: openapi.IntOrString, Format: openapi.FormatQuantity}
	listOf := func(s *openapi.Schema) *openapi.Schema { return &openapi.Schema{Type: openapi.List, Items: s} }
	object := &openapi.Schema{Type: openapi.Object, Fields: map[string]*openapi.Field{"a": {Schema: number, Required: true}}}
	open := &openapi.Schema{Type: openapi.Object, Open: true}
	list, dict, optional := types.NewListType, types.NewMapType, types.NewOptionalType
	for name, tt := range map[string]struct {
		value *types.Type
		from  *openapi.Schema // in place of value
		field *openapi.Schema
		want  string // empty: it fits
		hint  string
	}{
		"text":                         {value: types.StringType, field: text},
		"a time is text":               {value: types.TimestampType, field: text},
		"an int for text":              {value: types.IntType, field: text, want: "a string, not an int", hint: "write string(x)"},
		"text for an int":              {value: types.StringType, field: number, want: "an integer, not a string", hint: "write int(x)"},
		"an int for a double":          {value: types.IntType, field: &openapi.Schema{Type: openapi.Number}},
		"an int for a list":            {value: types.IntType, field: listOf(number), want: "a list, not an int", hint: "write [x]"},
		"text for bytes":               {value: types.StringType, field: data, want: "bytes, not a string", hint: "write bytes(x)"},
		"bytes for bytes":              {value: types.BytesType, field: data},
		"a double for a port":          {value: types.DoubleType, field: port, want: "an integer or a string, not a double", hint: "write int(x)"},
		"a double for a quantity":      {value: types.DoubleType, field: quantity},
		"a port for a bool":            {from: port, field: &openapi.Schema{Type: openapi.Boolean}, want: "true or false, not an integer or a string"},
		"a port for an int":            {from: port, field: number},
		"an optional value":            {value: optional(types.IntType), field: number},
		"a wrong optional value":       {value: optional(types.StringType), field: number, want: "an integer, not a string, where it exists", hint: "write x.optMap(v, int(v))"},
		"items of a list":              {value: list(types.StringType), field: listOf(number), want: "a list of integers, not a list of strings", hint: "write x.map(v, int(v))"},
		"a map for an object":          {value: dict(types.StringType, types.IntType), field: object},
		"an object for a list":         {from: object, field: listOf(number), want: "a list, not a mapping"},
		"an object that is taken":      {from: object, field: open},
		"an object with another field": {from: object, field: &openapi.Schema{Type: openapi.Object}, want: "a mapping without a, not one that has it"},
		"a field of another type": {
			from: object, field: &openapi.Schema{Type: openapi.Map, Items: text}, want: "a mapping in which a is a string, not one in which it is an int",
		},
		"null":             {value: types.NullType, field: number},
		"nothing is known": {value: types.DynType, field: number},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			table := NewTable()
			v := Of(tt.value)
			if tt.from != nil {
				v = table.Of(tt.from)
			}
			got, hint := "", ""
			if m := table.Misfit(v, tt.field); m != nil {
				got, hint = m.Want+", not "+m.Got, m.HintFor("x", false)
			}
			if got != tt.want || hint != tt.hint {
				t.Errorf("got %q, %q, want %q, %q", got, hint, tt.want, tt.hint)
			}
		})
	}
}
