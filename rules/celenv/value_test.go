package celenv

import (
	"errors"
	"math"
	"testing"
	"time"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/go-cmp/cmp"

	"kanon.dev/kanon/restmapping/openapi"
)

func TestToJSON(t *testing.T) {
	t.Parallel()
	secret := &openapi.Schema{Type: openapi.Map, Items: &openapi.Schema{Type: openapi.String, Format: openapi.FormatByte}}
	for name, test := range map[string]struct {
		val  ref.Val
		into Place
		want any
		err  error
	}{
		"null in a map":         {FromJSON(map[string]any{"a": nil, "b": int64(1)}), Place{}, map[string]any{"b": int64(1)}, nil},
		"none in a list":        {types.NewRefValList(Adapter{}, []ref.Val{types.OptionalNone, types.Int(1)}), Place{}, []any{int64(1)}, nil},
		"none":                  {types.OptionalNone, Place{}, nil, ErrNoValue},
		"bytes":                 {types.Bytes("abc"), Place{}, "YWJj", nil},
		"base64 stays base64":   {(&encoded{schema: secret, decode: Decode}).value(map[string]any{"a": "YWJj"}), Place{Schema: secret}, map[string]any{"a": "YWJj"}, nil},
		"base64 read":           {(&encoded{schema: secret, decode: Decode}).value(map[string]any{"a": "YWJj"}).(*jsonMap).Get(types.String("a")), Place{}, "YWJj", nil},
		"text instead of bytes": {FromJSON(map[string]any{"a": "abc"}), Place{Schema: secret}, nil, ErrTextForBytes},
		"a merged map":          {Made(map[string]any{"a": types.Int(1)}), Place{}, map[string]any{"a": int64(1)}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			left := 100
			got, err := ToJSONWithin(test.val, test.into, &left)
			if !errors.Is(err, test.err) {
				t.Fatalf("got the error %v, want %v", err, test.err)
			}
			if diff := cmp.Diff(test.want, got); err == nil && diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// A walk over a value ends when its bound is used up, however often the value holds another one.
func TestBounds(t *testing.T) {
	t.Parallel()
	var val ref.Val = types.NewRefValList(Adapter{}, []ref.Val{types.String("a")})
	for range 40 {
		val = types.NewRefValList(Adapter{}, []ref.Val{val, val})
	}
	if _, err := ToJSON(val); !errors.Is(err, ErrTooManyParts) {
		t.Errorf("ToJSON: got %v, want ErrTooManyParts", err)
	}
	if _, err := Plain(val, 1000); !errors.As(err, new(TooLongError)) {
		t.Errorf("Plain: got %v, want a TooLongError", err)
	}
	left := 1000
	if CountParts(val, &left) {
		t.Error("CountParts: 1000 parts are enough")
	}
	if got := Retained(val, 5000); got != 5000 {
		t.Errorf("Retained: got %d, want all 5000 bytes that were made", got)
	}
}

func TestSortedKeys(t *testing.T) {
	t.Parallel()
	val := types.NewRefValMap(Adapter{}, map[ref.Val]ref.Val{
		types.Int(10): types.True, types.Double(2.5): types.True, types.Uint(3): types.True,
		types.String("b"): types.True, types.String("a!"): types.True, types.String("a"): types.True, types.False: types.True,
		types.Int(1<<60 + 1): types.True, types.Int(1 << 60): types.True, types.True: types.True,
		types.Double(math.NaN()): types.True, types.Duration{Duration: 2 * time.Second}: types.True, types.Duration{Duration: 10 * time.Second}: types.True,
	})
	var got []string
	for _, key := range SortedKeys(val) {
		got = append(got, types.Format(key))
	}
	want := []string{`double("NaN")`, "2.5", "3u", "10", "1152921504606846976", "1152921504606846977", `"a"`, `"a!"`, `"b"`, `duration("10s")`, `duration("2s")`, "false", "true"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
