package feedback

import (
	"testing"
	"time"

	"kanon.dev/kanon/engine/identity"
)

// A field that is taken back again and again is in conflict, until a write lasts.
func TestConflicts(t *testing.T) {
	const limit = 2 * time.Minute
	color := []Field{{Path: "data.color", Manager: "painter"}}
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	var id identity.ID
	// lose is a reconcile that finds the fields lost; it tells whether they were taken back.
	lose := func(c *Conflicts, content string, fields []Field) bool {
		if c.Suppress(id, content, fields, now, limit) {
			return false
		}
		c.Wrote(id, content, fields, now)
		return true
	}
	fight := func(c *Conflicts, rounds int, between time.Duration) {
		for range rounds {
			if !lose(c, "a", color) {
				t.Fatal("the field is given up too soon")
			}
			now = now.Add(between)
		}
	}
	cases := map[string]func(t *testing.T, c *Conflicts){
		"a few quick rounds": func(t *testing.T, c *Conflicts) {
			t.Helper()
			fight(c, maxTakenBack, time.Second)
			if lose(c, "a", color) {
				t.Fatal("it goes on")
			}
			for want := firstPause; want < 4*limit; want *= 2 {
				want := min(want, limit)
				if got := c.Of(id, "a", now); len(got.Fields) != 1 || got.Fields[0] != color[0] || got.Wait != want {
					t.Fatalf("the conflict is %v, want %v for %s", got, color, want)
				}
				now = now.Add(want - time.Second)
				if lose(c, "a", color) {
					t.Fatalf("it is tried before %s are over", want)
				}
				now = now.Add(time.Second)
				if !lose(c, "a", color) {
					t.Fatalf("it is not tried after %s", want)
				}
				if got := c.Of(id, "a", now); len(got.Fields) != 1 || got.Wait != min(want, conflictWindow) {
					t.Fatalf("on trial is %v", got)
				}
				now = now.Add(time.Second)
				if lose(c, "a", color) {
					t.Fatal("a trial that fails is not the end")
				}
			}
			now = now.Add(limit)
			lose(c, "a", color)
			now = now.Add(conflictWindow)
			if got := c.Of(id, "a", now); got.Fields != nil {
				t.Errorf("the conflict is %v after a trial that lasted", got)
			}
			now = now.Add(6 * time.Minute)
			if c.Expire(now); !c.IsEmpty() {
				t.Error("it is not forgotten")
			}
		},
		"rounds far apart": func(_ *testing.T, c *Conflicts) { fight(c, 3*maxTakenBack, conflictWindow+time.Second) },
		"two changes by hand": func(t *testing.T, c *Conflicts) {
			t.Helper()
			fight(c, 2, time.Second)
			if got := c.Of(id, "a", now); got.Fields != nil {
				t.Errorf("the conflict is %v", got)
			}
		},
		"recreated in a pause": func(t *testing.T, c *Conflicts) {
			t.Helper()
			fight(c, maxTakenBack, time.Second)
			if lose(c, "a", color) {
				t.Fatal("it goes on")
			}
			now = now.Add(firstPause)
			for want := firstPause; want > 0; want -= time.Second { // nothing is lost from now on
				if got := c.Of(id, "a", now); len(got.Fields) != 1 || got.Wait != want {
					t.Fatalf("on trial is %v, want %s", got, want)
				}
				now = now.Add(time.Second)
			}
			if got := c.Of(id, "a", now); got.Fields != nil {
				t.Errorf("the conflict is %v after a trial that lasted", got)
			}
		},
		"another content": func(t *testing.T, c *Conflicts) {
			t.Helper()
			fight(c, maxTakenBack, time.Second)
			if !lose(c, "b", color) {
				t.Error("what is rendered now is not written")
			}
		},
		"one field and another": func(t *testing.T, c *Conflicts) {
			t.Helper()
			for i := range 3 * maxTakenBack {
				path := string(rune('a' + i%4))
				if i < 4*(maxTakenBack-1) && !lose(c, "a", []Field{{Path: path}}) {
					t.Fatalf("%s is given up", path)
				}
			}
		},
	}
	for name, test := range cases {
		t.Run(name, func(t *testing.T) { test(t, &Conflicts{}) })
	}
}
