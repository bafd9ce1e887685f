package reconcile

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"kanon.dev/kanon/engine/identity"
	"kanon.dev/kanon/engine/queue"
)

// A child that is deleted soon after each creation is created with growing pauses; one that lasts, or that Kanon deletes
// itself, is created at once.
func TestChildThatDoesNotLast(t *testing.T) {
	key := queue.Key{Rule: "r", Parent: types.NamespacedName{Namespace: "n", Name: "p"}}
	child := identity.ID{NamespacedName: types.NamespacedName{Namespace: "n", Name: "c"}}
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	var c creations
	now := start
	for creation, want := range []time.Duration{0, 0, 100 * time.Millisecond, 200 * time.Millisecond, 400 * time.Millisecond} {
		if of := c.of(key, child, now); of.Attempts != creation {
			t.Errorf("before creation %d, %d are counted", creation+1, of.Attempts)
		}
		c.add(key, child, now)
		if got := c.of(key, child, now).Remaining(now); creation > 0 && got != want {
			t.Errorf("the pause after creation %d is %s, want %s", creation+1, got, want)
		}
		now = now.Add(time.Second)
	}
	if of := c.of(key, child, now.Add(creationSpan)); of.Attempts != 0 {
		t.Errorf("%d creations of a child that has lasted are counted", of.Attempts)
	}
	c.forget(key, child)
	if of := c.of(key, child, now); of.Attempts != 0 {
		t.Errorf("%d creations of a child that Kanon deleted are counted", of.Attempts)
	}
	c.add(key, child, start)
	c.add(key, identity.ID{}, start.Add(2*creationSpan))
	if len(c.recent) != 1 {
		t.Errorf("%d children are remembered after their time", len(c.recent)-1)
	}
}
