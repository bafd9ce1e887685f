package cli

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestSlowCommandSaysSo(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		takes time.Duration
		want  string
	}{
		"fast": {sayAfter - 1, ""},
		"slow": {10 * sayAfter, "asking\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var out strings.Builder
				done := SayIfSlow(&out, "asking")
				time.Sleep(test.takes) //nolint:forbidigo // The clock is synctest's.
				done()
				time.Sleep(10 * sayAfter) //nolint:forbidigo // The clock is synctest's.
				if out.String() != test.want {
					t.Errorf("got %q, want %q", out.String(), test.want)
				}
			})
		})
	}
}
