package live_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"kanon.dev/kanon/author/live"
)

type value struct {
	Name string `json:"name"`
}

func list(names ...string) live.List {
	l := live.List{Columns: live.Columns("NAME", "READY", "message", "AGE")}
	for _, name := range names {
		l.Add("ns/"+name, value{name}, name, "True", "all is well", "5m")
	}
	return l
}

func TestFormats(t *testing.T) {
	t.Parallel()
	single := list("a")
	single.Single = true
	for name, tt := range map[string]struct {
		printer live.Printer
		lists   []live.List
		want    string
	}{
		"table":      {lists: []live.List{list("a", "longer")}, want: "NAME     READY   AGE\na        True    5m\nlonger   True    5m\n"},
		"wide":       {live.Printer{Format: live.FormatWide}, []live.List{list("a")}, "NAME   READY   MESSAGE       AGE\na      True    all is well   5m\n"},
		"no headers": {live.Printer{NoHeaders: true}, []live.List{list("a")}, "a   True   5m\n"},
		"empty":      {lists: []live.List{list()}, want: ""},
		"colours":    {live.Printer{Color: true}, []live.List{list("True")}, "NAME   READY   AGE\n\x1b[32mTrue\x1b[0m   \x1b[32mTrue\x1b[0m    5m\n"},
		"a watch": {
			lists: []live.List{list("first"), list("b"), list("a-longer-one"), list("c")},
			want:  "NAME    READY   AGE\nfirst   True    5m\nb       True    5m\na-longer-one   True    5m\nc              True    5m\n",
		},
		"a watch that begins with nothing": {lists: []live.List{list(), list("a")}, want: "NAME   READY   AGE\na      True    5m\n"},
		"names":                            {live.Printer{Format: live.FormatName}, []live.List{list("a", "b")}, "ns/a\nns/b\n"},
		"JSON": {
			live.Printer{Format: live.FormatJSON},
			[]live.List{list("a")},
			"{\n    \"apiVersion\": \"v1\",\n    \"items\": [\n        {\n            \"name\": \"a\"\n        }\n    ],\n    \"kind\": \"List\"\n}\n",
		},
		"JSON of nothing": {live.Printer{Format: live.FormatJSON}, []live.List{list()}, "{\n    \"apiVersion\": \"v1\",\n    \"items\": [],\n    \"kind\": \"List\"\n}\n"},
		"JSON of one":     {live.Printer{Format: live.FormatJSON}, []live.List{single}, "{\n    \"name\": \"a\"\n}\n"},
		"YAML of one":     {live.Printer{Format: live.FormatYAML}, []live.List{single}, "name: a\n"},
		"YAML of a watch": {live.Printer{Format: live.FormatYAML}, []live.List{single, list("b", "c")}, "name: a\n---\nname: b\n---\nname: c\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out strings.Builder
			printer := tt.printer
			printer.Out = &out
			for _, l := range tt.lists {
				if err := printer.Print(l); err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(tt.want, out.String()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestCells(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 5, 6, 7, 8, 0, time.UTC)
	for want, got := range map[string]string{
		"<unknown>": live.Age(time.Time{}, now), "3h": live.Age(now.Add(-3*time.Hour), now),
		"<none>": live.OrNone(""), "a": live.OrNone("a"), "-": live.CountText(-1), "0": live.CountText(0),
		"two lines": live.Line("two\n  lines", false), strings.Repeat("x", 79) + "…": live.Line(strings.Repeat("x", 81), false),
		strings.Repeat("x", 81): live.Line(strings.Repeat("x", 81), true),
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
