package reconcile

import (
	"context"
	"maps"
	"sync"
	"time"

	"kanon.dev/kanon/engine/apply/mark"
	"kanon.dev/kanon/engine/conditions"
	"kanon.dev/kanon/engine/identity"
	"kanon.dev/kanon/engine/queue"
)

// A child that is deleted soon after its creation, again and again, is a sign that somebody deletes it for a reason. Most
// often it is the garbage collector, because the parent was recreated under its name and the informer still shows the
// former one. So the API server is asked whether the parent exists, and the child is created again with growing pauses.

// creationSpan is how long a child must exist to count as one that lasts.
const creationSpan = 10 * time.Second

// creationLimits are the pauses before a child is created that did not last twice.
func creationLimits() queue.Limits {
	return queue.Limits{First: 100 * time.Millisecond, Max: creationSpan}
}

// creation names a child that was created for a parent.
type creation struct {
	key   queue.Key
	child identity.ID
}

// creations counts how often each child was created in a row within creationSpan. It is safe for concurrent use. The
// zero value has none.
type creations struct {
	mu sync.Mutex
	// recent has the children created within creationSpan, and older ones until the next sweep. Guarded by mu, like swept.
	recent map[creation]queue.Backoff
	swept  time.Time
}

// add counts a creation.
func (c *creations) add(k queue.Key, child identity.ID, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now.Sub(c.swept) > creationSpan {
		c.swept = now
		maps.DeleteFunc(c.recent, func(_ creation, b queue.Backoff) bool { return now.Sub(b.Last) > creationSpan })
	}
	if c.recent == nil {
		c.recent = make(map[creation]queue.Backoff)
	}
	of := creation{k, child}
	attempts := 0
	if before := c.recent[of]; now.Sub(before.Last) <= creationSpan {
		attempts = before.Attempts
	}
	// The first two creations are followed by no pause.
	c.recent[of] = queue.Backoff{Attempts: attempts + 1, Last: now, Pause: creationLimits().After(attempts - 1)}
}

// forget drops a child that Kanon itself deleted.
func (c *creations) forget(k queue.Key, child identity.ID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.recent, creation{k, child})
}

// of returns how often a child was created in a row within creationSpan.
func (c *creations) of(k queue.Key, child identity.ID, now time.Time) queue.Backoff {
	c.mu.Lock()
	defer c.mu.Unlock()
	if of := c.recent[creation{k, child}]; now.Sub(of.Last) <= creationSpan {
		return of
	}
	return queue.Backoff{}
}

// checkLost returns an error if a child is not to be created now, because it did not last repeatedly.
func (p *pass) checkLost(ctx context.Context, w *childWrite) error {
	if w.before != nil || p.r.Unpaused {
		return nil
	}
	lost := p.r.creations.of(p.key, w.id, p.started)
	if lost.Attempts < 2 {
		return nil
	}
	if err := p.checkParent(ctx); err != nil {
		return err
	}
	if wait := lost.Remaining(p.started); wait > 0 {
		return &conditions.LostChildError{Object: mark.RefOf(w.object), Count: lost.Attempts, After: wait}
	}
	return nil
}
