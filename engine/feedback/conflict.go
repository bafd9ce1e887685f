package feedback

import (
	"slices"
	"sync"
	"time"

	"kanon.dev/kanon/engine/identity"
	"kanon.dev/kanon/engine/pacing"
)

const (
	// maxTakenBack is how often a field may be taken back from others before it counts as a conflict.
	maxTakenBack = 5
	// conflictWindow is the longest time from one such write to the next loss of the field that makes the two belong together.
	conflictWindow = time.Minute
)

// Field is a field that a rule renders, and that others keep taking back.
type Field struct {
	Path string
	// Manager has the field now; empty where nobody does, as of a field that somebody removed.
	Manager string
}

// FieldsOf are fields as another package describes them.
func FieldsOf[F ~struct{ Path, Manager string }](fields []F) []Field {
	out := make([]Field, len(fields))
	for i, f := range fields {
		out[i] = Field(f)
	}
	return out
}

// Conflict is about the fields of one object. Wait is how long it takes until the object is to be looked at again.
type Conflict struct {
	Fields []Field
	Wait   time.Duration
}

// Conflicts are those of the objects that one key writes. The zero value is ready. It is safe for concurrent use, because the
// writes of one reconcile go side by side.
type Conflicts struct {
	mu sync.Mutex
	// objects has those of which a field was taken back lately. Guarded by mu.
	objects map[identity.ID]*conflictState
}

// conflictState is what is known of an object of which others take back fields.
type conflictState struct {
	// content is what is rendered; another content is another matter.
	content string
	// takenBack counts, by path, the writes that took the field back, and written is when the last one was made.
	takenBack map[string]int
	written   time.Time
	// fields are those in conflict, once there are any.
	fields []Field
	// suppressed is true where the object is left to others until the pause is over, and false while one more write is on trial.
	suppressed bool
	backoff    pacing.Backoff
}

// IsKnown tells whether a field of an object was taken back lately, so that Suppress is to be asked before the object is written.
func (c *Conflicts) IsKnown(id identity.ID) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.objects[id] != nil
}

// IsRepeated tells whether a field of an object was taken back more than once lately.
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

// Suppress tells whether an object must not be written now. content identifies what is rendered, and lost are the fields of it
// that others have. No pause is longer than longest.
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
		it.backoff.Next(now, pacing.Limits{First: firstPause, Max: longest})
	case it.backoff.Remaining(now) == 0:
		it.suppressed = false // one more write, on trial
	}
	return it.suppressed
}

// Wrote takes in a write of an object, which took the lost fields back, if they had been ours.
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

// Of is the conflict about an object; without fields where there is none. A write on trial has to last for as long as the pause
// before it was, or conflictWindow where that is less.
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
		it.suppressed, it.written = false, now // nothing is lost any more: that is on trial
	}
	trial := min(it.backoff.Pause, conflictWindow)
	left := min(it.written.Add(trial).Sub(now), trial)
	if left <= 0 {
		it.fields = nil
		return Conflict{}
	}
	return Conflict{it.fields, left}
}

// currentLocked is what is known of an object, if it is about this content and has not ended.
func (c *Conflicts) currentLocked(id identity.ID, content string, now time.Time) *conflictState {
	it := c.objects[id]
	if it != nil && (it.content != content || now.Sub(it.written) > conflictWindow+2*it.backoff.Pause) {
		delete(c.objects, id)
		return nil
	}
	return it
}

// Expire forgets the objects of which nothing was taken back lately.
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

// IsEmpty tells whether nothing was taken back lately.
func (c *Conflicts) IsEmpty() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.objects) == 0
}
