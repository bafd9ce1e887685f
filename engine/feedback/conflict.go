package feedback

import (
	"slices"
	"sync"
	"time"

	"kanon.dev/kanon/engine/identity"
	"kanon.dev/kanon/engine/queue"
)

const (
	// maxTakenBack is how often Kanon may write a field back before that counts as a conflict.
	maxTakenBack = 5
	// conflictWindow is the longest time between such a write and the next loss of the field for the two to belong
	// together.
	conflictWindow = time.Minute
	// firstPause is the first pause of a conflict.
	firstPause = 10 * time.Second
)

// Field is a field that a rule renders and that others keep changing.
type Field = identity.Field

// Conflict describes the fields in conflict of one object. Wait is the time until the object must be reconciled again.
type Conflict struct {
	Fields []Field
	Wait   time.Duration
}

// Conflicts are the conflicts over the objects that one key writes. The zero value is ready. It is safe for concurrent
// use, because one reconcile writes several objects in parallel.
type Conflicts struct {
	mu sync.Mutex
	// objects has the objects with a field that was written back recently. Guarded by mu.
	objects map[identity.ID]*conflictState
}

// conflictState is what is known of an object whose fields others change.
type conflictState struct {
	// content identifies what is rendered; another content starts over.
	content string
	// takenBack counts, by path, the writes that wrote the field back. written is when the last one was made.
	takenBack map[string]int
	written   time.Time
	// fields are those in conflict, once there are any.
	fields []Field
	// suppressed is true if the object is left to others until the pause is over, and false while one more write is on
	// trial.
	suppressed bool
	backoff    queue.Backoff
}

// IsKnown reports whether a field of an object was written back recently, so that Suppress must be asked before a
// write.
func (c *Conflicts) IsKnown(id identity.ID) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.objects[id] != nil
}

// IsRepeated reports whether a field of an object was written back more than once recently.
func (c *Conflicts) IsRepeated(id identity.ID) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	it := c.objects[id]
	if it == nil {
		return false
	}
	for _, n := range it.takenBack {
		if n > 1 {
			return true
		}
	}
	return false
}

// Suppress reports whether an object must not be written now. content identifies what is rendered, and lost are its
// fields that others own now. No pause is longer than longest.
func (c *Conflicts) Suppress(id identity.ID, content string, lost []Field, now time.Time, longest time.Duration) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	it := c.currentLocked(id, content, now)
	if it == nil {
		return false
	}
	fields := slices.DeleteFunc(slices.Clone(lost), func(f Field) bool { return it.takenBack[f.Path] < maxTakenBack })
	switch {
	case len(fields) == 0:
		return false
	case !it.suppressed:
		it.fields, it.suppressed = fields, true
		it.backoff.Next(now, queue.Limits{First: firstPause, Max: longest})
	case it.backoff.Remaining(now) == 0:
		it.suppressed = false // one more write, on trial
	}
	return it.suppressed
}

// Wrote records a write of an object that wrote the lost fields back.
func (c *Conflicts) Wrote(id identity.ID, content string, lost []Field, now time.Time) {
	if len(lost) == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	it := c.currentLocked(id, content, now)
	if it == nil {
		it = &conflictState{content: content, takenBack: make(map[string]int)}
		if c.objects == nil {
			c.objects = make(map[identity.ID]*conflictState)
		}
		c.objects[id] = it
	}
	it.written = now
	for _, f := range lost {
		it.takenBack[f.Path]++
	}
}

// Of returns the conflict over an object; without fields if there is none. The conflict ends when a write on trial has
// lasted for as long as the pause before it, or for conflictWindow if that is shorter.
func (c *Conflicts) Of(id identity.ID, content string, now time.Time) Conflict {
	c.mu.Lock()
	defer c.mu.Unlock()
	it := c.currentLocked(id, content, now)
	if it == nil || len(it.fields) == 0 {
		return Conflict{}
	}
	if it.suppressed {
		if wait := it.backoff.Remaining(now); wait > 0 {
			return Conflict{it.fields, wait}
		}
		it.suppressed, it.written = false, now // nothing is lost any more: treat that as a write on trial
	}
	trial := min(it.backoff.Pause, conflictWindow)
	left := min(it.written.Add(trial).Sub(now), trial)
	if left <= 0 {
		it.fields = nil
		return Conflict{}
	}
	return Conflict{it.fields, left}
}

// currentLocked returns what is known of an object, if it is about this content and has not ended.
func (c *Conflicts) currentLocked(id identity.ID, content string, now time.Time) *conflictState {
	it := c.objects[id]
	if it != nil && (it.content != content || now.Sub(it.written) > conflictWindow+2*it.backoff.Pause) {
		delete(c.objects, id)
		return nil
	}
	return it
}

// Expire forgets the objects whose fields were not written back recently.
func (c *Conflicts) Expire(now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for id, it := range c.objects {
		c.currentLocked(id, it.content, now)
	}
}

// Reset forgets all objects, so that they are written again.
func (c *Conflicts) Reset() {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.objects)
}

// IsEmpty reports whether nothing was written back recently.
func (c *Conflicts) IsEmpty() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.objects) == 0
}
