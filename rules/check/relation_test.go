package check

import (
	"testing"

	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"

	"kanon.dev/kanon/rules/celenv"
)

func TestCall(t *testing.T) {
	t.Parallel()
	env, err := celenv.Shared()
	if err != nil {
		t.Fatal(err)
	}
	list, object := types.NewListType, types.NewObjectType("object")
	optional := types.NewOptionalType
	for name, tt := range map[string]struct {
		function string
		method   bool
		operands []*types.Type
		want     string
		wrong    int
	}{
		"ints":                       {operators.Add, false, []*types.Type{types.IntType, types.IntType}, "int", -1},
		"int and double":             {operators.Add, false, []*types.Type{types.IntType, types.DoubleType}, "double", -1},
		"int and string":             {operators.Add, false, []*types.Type{types.IntType, types.StringType}, "dyn", 1},
		"one of several":             {operators.Add, false, []*types.Type{types.IntType, types.DynType}, "dyn", -1},
		"lists of one type":          {operators.Add, false, []*types.Type{list(types.IntType), list(NoType())}, "list(int)", -1},
		"a parameter in the result":  {"first", true, []*types.Type{list(types.StringType)}, "optional_type(string)", -1},
		"a wrong receiver":           {"startsWith", true, []*types.Type{types.IntType, types.StringType}, "dyn", 0},
		"a wrong argument":           {"startsWith", true, []*types.Type{types.StringType, types.IntType}, "dyn", 1},
		"too many arguments":         {"startsWith", true, []*types.Type{types.StringType, types.StringType, types.StringType}, "dyn", 3},
		"a method called otherwise":  {"startsWith", false, []*types.Type{types.StringType, types.StringType}, "dyn", 2},
		"an object is a map":         {"size", false, []*types.Type{object}, "int", -1},
		"a default":                  {"orValue", true, []*types.Type{optional(types.IntType), types.IntType}, "int", -1},
		"a default of another type":  {"orValue", true, []*types.Type{optional(types.IntType), types.StringType}, "dyn", 1},
		"an empty list by default":   {"orValue", true, []*types.Type{optional(list(types.IntType)), list(NoType())}, "list(int)", -1},
		"an optional that is needed": {"orValue", true, []*types.Type{types.IntType, types.IntType}, "dyn", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, wrong := call(env, tt.function, tt.method, tt.operands)
			if got.String() != tt.want || wrong != tt.wrong {
				t.Errorf("got %s, %d, want %s, %d", got, wrong, tt.want, tt.wrong)
			}
		})
	}
}

func TestMeetAndJoin(t *testing.T) {
	t.Parallel()
	list, dict := types.NewListType, types.NewMapType
	a, b := types.NewObjectType("a"), types.NewObjectType("b")
	for name, tt := range map[string]struct {
		x, y  *types.Type
		meet  bool
		joint string
	}{
		"the same":           {types.IntType, types.IntType, true, "int"},
		"numbers":            {types.IntType, types.DoubleType, true, "dyn"},
		"int and string":     {types.IntType, types.StringType, false, "dyn"},
		"null":               {types.NullType, types.StringType, true, "string"},
		"nothing is known":   {types.DynType, types.StringType, true, "dyn"},
		"items of [] are of": {list(NoType()), list(types.IntType), true, "list(int)"},
		"lists that differ":  {list(types.IntType), list(types.StringType), false, "list(dyn)"},
		"two objects":        {a, b, true, "map(string, dyn)"},
		"object and map":     {a, dict(types.StringType, types.IntType), true, "map(string, dyn)"},
		"object and list":    {a, list(types.IntType), false, "dyn"},
		"optional and value": {types.NewOptionalType(types.IntType), types.IntType, false, "dyn"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, pair := range [][2]*types.Type{{tt.x, tt.y}, {tt.y, tt.x}} {
				if got := Meet(pair[0], pair[1]); got != tt.meet {
					t.Errorf("Meet(%s, %s) = %t", pair[0], pair[1], got)
				}
				if got := Join(pair[0], pair[1]); got.String() != tt.joint {
					t.Errorf("Join(%s, %s) = %s, want %s", pair[0], pair[1], got, tt.joint)
				}
			}
		})
	}
}
