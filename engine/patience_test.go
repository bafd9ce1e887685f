package engine

import (
	"testing"
	"time"

	"kanon.dev/kanon/engine/source"
)

// TestPatience holds how long nothing is said of what is on its way, each origin for
// itself: longer at the start, and again and again as long as that goes on.
func TestPatience(t *testing.T) {
	start := time.Now()
	p := newPatience(start)
	a, b := source.Origin{Path: "a"}, source.Origin{Path: "b"}
	busy := map[source.Origin]bool{a: true}
	steps := []struct {
		origin source.Origin
		at     time.Duration
		over   bool
		left   time.Duration
	}{
		{a, time.Second, false, patienceAtStart - time.Second},
		{a, patienceAtStart - 1, false, 1},
		{a, patienceAtStart, true, patienceLimit},
		{a, patienceAtStart + 1, false, patienceLimit - 1},
		{a, patienceAtStart + patienceLimit, true, patienceLimit},
		{b, patienceAtStart + patienceLimit, false, patienceLimit},
	}
	for i, step := range steps {
		if over, left := p.over(step.origin, start.Add(step.at)); over != step.over || left != step.left {
			t.Errorf("step %d: %t with %s left, want %t with %s", i, over, left, step.over, step.left)
		}
	}
	p.keep(busy)
	if over, left := p.over(b, start.Add(time.Hour)); over || left != patienceLimit {
		t.Errorf("what was kept of an origin at rest is %t with %s left", over, left)
	}
}
