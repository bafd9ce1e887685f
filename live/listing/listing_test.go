package listing_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"kanon.dev/kanon/live/listing"
)

type value struct {
	Name string `json:"name"`
}

func list(names ...string) listing.List {
	l := listing.List{Columns: listing.Columns("NAME", "READY", "message", "AGE")}
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
		printer listing.Printer
		lists   []listing.List
		want    string
	}{
		"table":      {lists: []listing.List{list("a", "longer")}, want: "NAME     READY   AGE\na        True    5m\nlonger   True    5m\n"},
		"wide":       {listing.Printer{Format: listing.Wide}, []listing.List{list("a")}, "NAME   READY   MESSAGE       AGE\na      True    all is well   5m\n"},
		"no headers": {listing.Printer{NoHeaders: true}, []listing.List{list("a")}, "a   True   5m\n"},
		"empty":      {lists: []listing.List{list()}, want: ""},
		"colours":    {listing.Printer{Color: true}, []listing.List{list("True")}, "NAME   READY   AGE\n\x1b[32mTrue\x1b[0m   \x1b[32mTrue\x1b[0m    5m\n"},
		"a watch": {
			lists: []listing.List{list("first"), list("b"), list("a-longer-one"), list("c")},
			want:  "NAME    READY   AGE\nfirst   True    5m\nb       True    5m\na-longer-one   True    5m\nc              True    5m\n",
		},
		"a watch that begins with nothing": {lists: []listing.List{list(), list("a")}, want: "NAME   READY   AGE\na      True    5m\n"},
		"names":                            {listing.Printer{Format: listing.Name}, []listing.List{list("a", "b")}, "ns/a\nns/b\n"},
		"JSON": {
			listing.Printer{Format: listing.JSON},
			[]listing.List{list("a")},
			"{\n    \"apiVersion\": \"v1\",\n    \"items\": [\n        {\n            \"name\": \"a\"\n        }\n    ],\n    \"kind\": \"List\"\n}\n",
		},
		"JSON of nothing": {listing.Printer{Format: listing.JSON}, []listing.List{list()}, "{\n    \"apiVersion\": \"v1\",\n    \"items\": [],\n    \"kind\": \"List\"\n}\n"},
		"JSON of one":     {listing.Printer{Format: listing.JSON}, []listing.List{single}, "{\n    \"name\": \"a\"\n}\n"},
		"YAML of one":     {listing.Printer{Format: listing.YAML}, []listing.List{single}, "name: a\n"},
		"YAML of a watch": {listing.Printer{Format: listing.YAML}, []listing.List{single, list("b", "c")}, "name: a\n---\nname: b\n---\nname: c\n"},
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
		"<unknown>": listing.Age(time.Time{}, now), "3h": listing.Age(now.Add(-3*time.Hour), now),
		"<none>": listing.Or(""), "a": listing.Or("a"), "-": listing.Count(-1), "0": listing.Count(0),
		"two lines": listing.Line("two\n  lines", false), strings.Repeat("x", 79) + "…": listing.Line(strings.Repeat("x", 81), false),
		strings.Repeat("x", 81): listing.Line(strings.Repeat("x", 81), true),
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
