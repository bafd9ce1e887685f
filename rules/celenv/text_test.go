package celenv

import (
	"testing"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
)

// What a value's JSON has at least is never more than it has, with and without what JSON leaves out.
func TestLeastText(t *testing.T) {
	t.Parallel()
	shared := types.DefaultTypeAdapter.NativeToValue([]ref.Val{types.Int(1), types.OptionalNone, types.OptionalOf(types.String("x"))})
	fields := types.DefaultTypeAdapter.NativeToValue(map[ref.Val]ref.Val{
		types.String("a"): shared, types.String(""): shared, types.String("b"): types.OptionalNone,
	})
	twice := types.DefaultTypeAdapter.NativeToValue([]ref.Val{fields, fields, shared})
	for _, val := range []ref.Val{shared, fields, types.OptionalOf(fields), twice, types.String("x")} {
		text, err := encodeJSON(val, 1000)
		if err != nil {
			t.Fatal(err)
		}
		if least := leastText(val, 1000, map[ref.Val]int{}); least > len(text) {
			t.Errorf("%s has at least %d bytes, says leastText, and has %d", text, least, len(text))
		}
	}
	deep := shared
	for range 40 {
		deep = types.DefaultTypeAdapter.NativeToValue([]ref.Val{deep, deep, deep})
	}
	if known := map[ref.Val]int{}; leastText(deep, 1<<40, known) <= 1<<40 || len(known) > 50 {
		t.Errorf("a list that is contained many times is not measured once: %d measures", len(known))
	}
}
