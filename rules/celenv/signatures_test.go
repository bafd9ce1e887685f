package celenv

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestForms(t *testing.T) {
	t.Parallel()
	env, err := Shared()
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string][]string{
		"startsWith": {"string.startsWith(string)"},
		"truncate":   {"truncate(timestamp, duration)"},
		"orValue":    {"optional.orValue(any)"},
		"join":       {"list.join()", "list.join(string)"},
		"nothing":    nil,
	} {
		if diff := cmp.Diff(want, env.Signatures(name)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
