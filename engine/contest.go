package engine

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kanon.dev/kanon/engine/apply"
	"kanon.dev/kanon/engine/conditions"
	"kanon.dev/kanon/engine/identity"
)

// maxRounds is how often a field is taken back from others before it counts as
// contested, and contestWindow the longest time from one such write to the next
// loss of the field that makes the two belong together.
const (
	maxRounds     = 5
	contestWindow = time.Minute
)

// contest is about one object of which others keep taking back fields that a rule
// renders.
type contest struct {
	// content is what is rendered; another one is another matter.
	content string
	// rounds counts, by path, the writes that took it back, and written is when the
	// last one was made.
	rounds  map[string]int
	written time.Time
	// fields are those that are contested, once there are any.
	fields []apply.Contested
	// resting is true where the object was given up until the pause is over, and
	// false while one more write is on trial.
	resting bool
	retreat retreat
}

// contests are those of one parent and one rule. A batch's writes go side by side,
// so it has a lock. The zero value is ready for use.
type contests struct {
	mu sync.Mutex
	// of has the objects of which a field was taken back lately. Guarded by mu.
	of map[identity.ID]*contest
}

// contestedError says that an object is not written to, or was not for a while,
// because others keep taking fields of it back.
type contestedError struct {
	object apply.Ref
	fields []apply.Contested
	// nameOf is what people call a field manager.
	nameOf func(manager string) string
	// patched is true where it is a patch that sets them, which can ignore nothing.
	patched bool
	// after is when it is worth another look.
	after time.Duration
}

// Reason implements conditions.Reasoned.
func (e *contestedError) Reason() (reason string, stalled bool) {
	return conditions.ReasonContested, true
}

func (e *contestedError) Error() string {
	var ignored []string
	managers := make(map[string]bool)
	for _, f := range e.fields {
		name := "somebody who removes it"
		if f.Manager != "" {
			name = e.nameOf(f.Manager)
		}
		managers[name] = true
		if !e.patched && !apply.IsMark(f.Path) {
			ignored = append(ignored, fmt.Sprintf("%q", f.Path))
		}
	}
	paths := make([]string, len(e.fields))
	for i, f := range e.fields {
		paths[i] = f.Path
	}
	text := fmt.Sprintf("%s of %s keeps being taken back by %s; it is left to them for now, and tried again with growing pauses",
		strings.Join(paths, ", "), e.object, strings.Join(slices.Sorted(maps.Keys(managers)), " and by "))
	if len(ignored) > 0 {
		text += "; to leave it to them for good, say ignore: [" + strings.Join(ignored, ", ") + "]"
	}
	return text
}

// repeated tells whether a field of an object was taken back more than once lately.
func (c *contests) repeated(id identity.ID) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	it := c.of[id]
	if it == nil {
		return false
	}
	for _, rounds := range it.rounds {
		if rounds > 1 {
			return true
		}
	}
	return false
}

// known tells whether there is a contest to look into before an object is written.
func (c *contests) known(id identity.ID) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.of[id] != nil
}

// hold tells whether an object is to be left alone for now, of which lost are the
// rendered fields that are not ours; nil where it may be written.
func (c *contests) hold(id identity.ID, content string, lost []apply.Contested, now time.Time, limit time.Duration) []apply.Contested {
	c.mu.Lock()
	defer c.mu.Unlock()
	it := c.currentLocked(id, content, now)
	if it == nil || len(lost) == 0 {
		return nil
	}
	contested := slices.DeleteFunc(slices.Clone(lost), func(f apply.Contested) bool { return it.rounds[f.Path] < maxRounds })
	switch {
	case len(contested) == 0:
		return nil
	case !it.resting:
		it.fields, it.resting = contested, true
		it.retreat.deepen(now, limit)
		return it.fields
	case it.retreat.rest(now) > 0:
		return it.fields
	default:
		it.resting = false // once more, on trial
		return nil
	}
}

// wrote counts a write that took fields back, if they had been ours.
func (c *contests) wrote(id identity.ID, content string, lost []apply.Contested, now time.Time) {
	if len(lost) == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	it := c.currentLocked(id, content, now)
	if it == nil {
		it = &contest{content: content, rounds: make(map[string]int)}
		if c.of == nil {
			c.of = make(map[identity.ID]*contest)
		}
		c.of[id] = it
	}
	it.written = now
	for _, f := range lost {
		it.rounds[f.Path]++
	}
}

// open are the contested fields of an object, if there are any, and how long it is
// until they should be looked at again. A write on trial has to hold for as long as
// the pause before it was, or contestWindow where that is less.
func (c *contests) open(id identity.ID, content string, now time.Time) ([]apply.Contested, time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	it := c.currentLocked(id, content, now)
	if it == nil || len(it.fields) == 0 {
		return nil, 0
	}
	if it.resting {
		if rest := it.retreat.rest(now); rest > 0 {
			return it.fields, rest
		}
		it.resting, it.written = false, now // nothing is lost any more: that is on trial
	}
	trial := min(it.retreat.pause, contestWindow)
	left := min(it.written.Add(trial).Sub(now), trial)
	if left <= 0 {
		it.fields = nil
		return nil, 0
	}
	return it.fields, left
}

// currentLocked is the contest about an object, if it is about this content and goes
// on still.
func (c *contests) currentLocked(id identity.ID, content string, now time.Time) *contest {
	it := c.of[id]
	if it != nil && (it.content != content || now.Sub(it.written) > contestWindow+2*it.retreat.pause) {
		delete(c.of, id)
		return nil
	}
	return it
}

// sweep forgets what is over.
func (c *contests) sweep(now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for id, it := range c.of {
		c.currentLocked(id, it.content, now)
	}
}

func (c *contests) empty() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.of) == 0
}

// heldByContest says that a child must not be written now, because others keep
// taking fields of it back.
func (p *pass) heldByContest(child *apply.Child, live *unstructured.Unstructured) error {
	id := identity.Of(child.Object)
	if live == nil || !p.memory.contests.known(id) {
		return nil
	}
	if p.memory.contests.hold(id, child.Content(), child.Lost(live), p.started, p.options.RetryMax) == nil {
		return nil
	}
	return p.contested(child)
}

// noteContest counts what an apply took back of others, and says what is still
// contested of a child that is as it should be.
func (p *pass) noteContest(child *apply.Child, result apply.Result) error {
	p.memory.contests.wrote(identity.Of(child.Object), child.Content(), result.Lost, p.started)
	return p.contested(child)
}

// contested is the error of a child of which fields are contested; nil for any other child.
func (p *pass) contested(child *apply.Child) error {
	fields, rest := p.memory.contests.open(identity.Of(child.Object), child.Content(), p.started)
	if len(fields) == 0 {
		return nil
	}
	return &contestedError{object: child.Ref, fields: fields, nameOf: p.managerName, after: rest + time.Millisecond}
}

// managerName is what people call a field manager: that of a rule by the rule.
func (e *Engine) managerName(manager string) string {
	for id, op := range e.running.load().byID {
		if strings.Contains(manager, id) {
			return "rule " + op.name.String()
		}
	}
	return manager
}
