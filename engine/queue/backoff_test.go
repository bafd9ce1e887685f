package queue

import (
	"testing"
	"time"
)

// The pause doubles with each attempt, up to the longest.
func TestBackoff(t *testing.T) {
	limits := Limits{First: 10 * time.Second, Max: 5 * time.Minute}
	at := time.Date(2026, 3, 5, 6, 7, 8, 0, time.UTC)
	tests := map[string]struct {
		attempts int
		since    time.Duration // from the last attempt to now
		want     time.Duration
	}{
		"never":                {0, 0, 0},
		"once":                 {1, 0, 10 * time.Second},
		"twice":                {2, 0, 20 * time.Second},
		"three times":          {3, 0, 40 * time.Second},
		"a part has passed":    {3, 15 * time.Second, 25 * time.Second},
		"all of it has passed": {1, 11 * time.Second, 0},
		"the longest":          {6, 0, 5 * time.Minute},
		"very often":           {1 << 40, 0, 5 * time.Minute},
		"long ago":             {6, time.Hour, 0},
		"a clock put back":     {2, -time.Hour, 20 * time.Second},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := NewBackoff(tc.attempts, at, limits).Remaining(at.Add(tc.since)); got != tc.want {
				t.Errorf("it waits %s, want %s", got, tc.want)
			}
		})
	}
	t.Run("one after the other", func(t *testing.T) {
		var b Backoff
		if got := b.Remaining(at); got != 0 {
			t.Errorf("before the first attempt it waits %s", got)
		}
		for i, want := range []time.Duration{10, 20, 40, 80, 160, 300, 300} {
			if b.Next(at, limits); b.Remaining(at) != want*time.Second || b.Attempts != i+1 {
				t.Errorf("after %d attempts it waits %s", b.Attempts, b.Remaining(at))
			}
		}
	})
	t.Run("the first is longer than the longest", func(t *testing.T) {
		if got := (Limits{First: time.Minute, Max: time.Second}).After(1); got != time.Second {
			t.Errorf("it waits %s", got)
		}
	})
}
