package conditions_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/go-logr/logr"

	"kanon.dev/kanon/engine/conditions"
)

func TestVerbosity(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]int{"": 0, "0": 0, "2": 2, "4": 4, "9": 4, "-1": 0, "loud": 0, "2.5": 0} {
		if got := conditions.Verbosity(value); got != want {
			t.Errorf("%q: %d, want %d", value, got, want)
		}
	}
}

func TestLogAt(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		log, verbosity int
		want           string
	}{
		"nothing asked":          {log: 0, verbosity: 0, want: "0"},
		"more than the log":      {log: 0, verbosity: 2, want: "0 2"},
		"all":                    {log: 0, verbosity: 4, want: "0 2 4"},
		"less than the log":      {log: 4, verbosity: 2, want: "0 2 4"},
		"a little above the log": {log: 2, verbosity: 3, want: "0 2"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var text bytes.Buffer
			handler := slog.NewTextHandler(&text, &slog.HandlerOptions{Level: slog.Level(-c.log)})
			log := conditions.LogAt(logr.FromSlogHandler(handler), c.verbosity).WithName("kanon").WithValues("rule", "a/b")
			for level, message := range map[int]string{0: "of-0", 2: "of-2", 4: "of-4"} {
				log.V(level).Info(message)
			}
			var got []string
			for _, level := range []string{"0", "2", "4"} {
				if strings.Contains(text.String(), "msg=of-"+level) {
					got = append(got, level)
				}
			}
			if strings.Join(got, " ") != c.want {
				t.Errorf("logs %s, want %s:\n%s", got, c.want, text.String())
			}
			if strings.Count(text.String(), "rule=a/b") != len(got) {
				t.Errorf("the values are lost:\n%s", text.String())
			}
		})
	}
	if got := conditions.LogAt(logr.Discard(), 4); got.Enabled() {
		t.Error("a log that discards everything is enabled")
	}
}
