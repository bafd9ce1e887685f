package program

import (
	"testing"
)

func TestStoredSize(t *testing.T) {
	t.Parallel()
	const record = len(`"f:":{},`)
	for name, test := range map[string]struct {
		val  any
		want int
	}{
		"text":    {"a\"\n\x01", len(`"a\"\n\u0001"`)},
		"numbers": {[]any{int64(-12), 1.5, true, nil}, len(`[-12,1.5,false,null,]`)},
		"fields":  {map[string]any{"ab": "c"}, len(`{"ab":"c",}`) + 2*(record+2)},
	} {
		if got := storedSize(test.val); got != test.want {
			t.Errorf("%s: got %d, want %d", name, got, test.want)
		}
	}
}
