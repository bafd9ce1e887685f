package catalog

import (
	"testing"
	"time"

	"kanon.dev/kanon/engine/source"
)

// TestGrace: each origin has a grace period of its own, which is longer at the start, and
// begins again as long as the origin waits.
func TestGrace(t *testing.T) {
	start := time.Now()
	g := newGrace(start)
	a, b := source.Origin{Path: "a"}, source.Origin{Path: "b"}
	waiting := map[source.Origin]bool{a: true}
	steps := []struct {
		origin source.Origin
		at     time.Duration
		over   bool
		left   time.Duration
	}{
		{a, time.Second, false, startGracePeriod - time.Second},
		{a, startGracePeriod - 1, false, 1},
		{a, startGracePeriod, true, GracePeriod},
		{a, startGracePeriod + 1, false, GracePeriod - 1},
		{a, startGracePeriod + GracePeriod, true, GracePeriod},
		{b, startGracePeriod + GracePeriod, false, GracePeriod},
	}
	for i, step := range steps {
		if over, left := g.isOver(step.origin, start.Add(step.at)); over != step.over || left != step.left {
			t.Errorf("step %d: %t with %s left, want %t with %s", i, over, left, step.over, step.left)
		}
	}
	g.keep(waiting)
	if over, left := g.isOver(b, start.Add(time.Hour)); over || left != GracePeriod {
		t.Errorf("the grace period of an origin that had ended its wait is %t with %s left", over, left)
	}
}
