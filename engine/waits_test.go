package engine

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"kanon.dev/kanon/engine/queue"
)

// An Event tells of a parent that waits once it has done so for the limit, and again when the
// reason is another one, but not sooner than the limit after the one before.
func TestWaits(t *testing.T) {
	t.Parallel()
	const limit = time.Minute
	type step struct {
		after  time.Duration
		uid    types.UID
		reason string // empty: the parent does not wait
		worth  bool
		again  time.Duration
	}
	for name, steps := range map[string][]step{
		"short": {
			{0, "a", "Waiting", false, limit},
			{59 * time.Second, "a", "Waiting", false, time.Second},
			{0, "", "", false, 0},
			{time.Hour, "a", "Waiting", false, limit},
		},
		"long": {
			{0, "a", "Waiting", false, limit}, {limit, "a", "Waiting", true, 0}, {time.Hour, "a", "Waiting", false, 0},
		},
		"for one thing after the other": {
			{0, "a", "KindMissing", false, limit},
			{30 * time.Second, "a", "Waiting", false, 30 * time.Second},
			{30 * time.Second, "a", "Waiting", true, 0},
			{10 * time.Second, "a", "Progressing", false, 50 * time.Second},
			{50 * time.Second, "a", "Progressing", true, 0},
			{time.Hour, "a", "Waiting", true, 0},
		},
		"of a parent that is another one": {
			{0, "a", "Waiting", false, limit}, {limit, "b", "Waiting", false, limit}, {limit, "b", "Waiting", true, 0},
		},
		"with a clock that is set back": {
			{0, "a", "Waiting", false, limit}, {-time.Hour, "a", "Waiting", false, limit},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, k, now := newWaits(), queue.Key{Rule: "r"}, time.Unix(1_800_000_000, 0)
			for i, s := range steps {
				now = now.Add(s.after)
				if s.reason == "" {
					w.forget(k)
					continue
				}
				if worth, again := w.note(k, s.uid, s.reason, now, limit); worth != s.worth || again != s.again {
					t.Errorf("step %d: an Event: %t, again after %s; want %t, %s", i, worth, again, s.worth, s.again)
				}
			}
		})
	}
}
