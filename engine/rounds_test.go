package engine

import (
	"testing"
	"time"

	"kanon.dev/kanon/engine/apply"
	"kanon.dev/kanon/engine/identity"
)

// A field that is taken back again and again is contested, until a write holds.
func TestRoundsOfAContest(t *testing.T) {
	const limit = 2 * time.Minute
	color := []apply.Contested{{Path: "data.color", Manager: "painter"}}
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	var id identity.ID
	// lose is a look that finds the fields lost; it tells whether they were taken back.
	lose := func(c *contests, content string, fields []apply.Contested) bool {
		if c.hold(id, content, fields, now, limit) != nil {
			return false
		}
		c.wrote(id, content, fields, now)
		return true
	}
	fight := func(c *contests, rounds int, between time.Duration) {
		for range rounds {
			if !lose(c, "a", color) {
				t.Fatal("the field is given up too soon")
			}
			now = now.Add(between)
		}
	}
	cases := map[string]func(t *testing.T, c *contests){
		"a few quick rounds": func(t *testing.T, c *contests) {
			t.Helper()
			fight(c, maxRounds, time.Second)
			if lose(c, "a", color) {
				t.Fatal("it goes on")
			}
			for want := firstRetreat; want < 4*limit; want *= 2 {
				want := min(want, limit)
				if fields, rest := c.open(id, "a", now); len(fields) != 1 || fields[0] != color[0] || rest != want {
					t.Fatalf("contested are %v for %s, want %s", fields, rest, want)
				}
				now = now.Add(want - time.Second)
				if lose(c, "a", color) {
					t.Fatalf("it is tried before %s are over", want)
				}
				now = now.Add(time.Second)
				if !lose(c, "a", color) {
					t.Fatalf("it is not tried after %s", want)
				}
				if fields, rest := c.open(id, "a", now); len(fields) != 1 || rest != min(want, contestWindow) {
					t.Fatalf("on trial are %v for %s", fields, rest)
				}
				now = now.Add(time.Second)
				if lose(c, "a", color) {
					t.Fatal("a trial that fails is not the end")
				}
			}
			now = now.Add(limit)
			lose(c, "a", color)
			now = now.Add(contestWindow)
			if fields, _ := c.open(id, "a", now); fields != nil {
				t.Errorf("contested are %v after a trial that held", fields)
			}
			now = now.Add(6 * time.Minute)
			if c.sweep(now); !c.empty() {
				t.Error("it is not forgotten")
			}
		},
		"rounds far apart": func(_ *testing.T, c *contests) { fight(c, 3*maxRounds, contestWindow+time.Second) },
		"two changes by hand": func(t *testing.T, c *contests) {
			t.Helper()
			fight(c, 2, time.Second)
			if fields, _ := c.open(id, "a", now); fields != nil {
				t.Errorf("contested are %v", fields)
			}
		},
		"made anew in a pause": func(t *testing.T, c *contests) {
			t.Helper()
			fight(c, maxRounds, time.Second)
			if lose(c, "a", color) {
				t.Fatal("it goes on")
			}
			now = now.Add(firstRetreat)
			for want := firstRetreat; want > 0; want -= time.Second { // nothing is lost from now on
				if fields, rest := c.open(id, "a", now); len(fields) != 1 || rest != want {
					t.Fatalf("on trial are %v for %s, want %s", fields, rest, want)
				}
				now = now.Add(time.Second)
			}
			if fields, _ := c.open(id, "a", now); fields != nil {
				t.Errorf("contested are %v after a trial that held", fields)
			}
		},
		"another content": func(t *testing.T, c *contests) {
			t.Helper()
			fight(c, maxRounds, time.Second)
			if !lose(c, "b", color) {
				t.Error("what is rendered anew is not written")
			}
		},
		"one field and another": func(t *testing.T, c *contests) {
			t.Helper()
			for i := range 3 * maxRounds {
				path := string(rune('a' + i%4))
				if i < 4*(maxRounds-1) && !lose(c, "a", []apply.Contested{{Path: path}}) {
					t.Fatalf("%s is given up", path)
				}
			}
		},
	}
	for name, test := range cases {
		t.Run(name, func(t *testing.T) { test(t, &contests{}) })
	}
}
