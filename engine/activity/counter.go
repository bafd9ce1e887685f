package activity

import "sync/atomic"

// Counter counts pieces of work. The zero value has none. A nil Counter counts nothing.
type Counter struct{ begun, ended atomic.Int64 }

// Begin counts a piece of work until End is called.
func (c *Counter) Begin() {
	if c != nil {
		c.begun.Add(1)
	}
}

// End is called once for each Begin.
func (c *Counter) End() {
	if c != nil {
		c.ended.Add(1)
	}
}

// Idle reports whether there is no work, and all of the others, which know of work that is not counted, report the same
// at the same time.
func (c *Counter) Idle(others ...func() bool) bool {
	begun := c.begun.Load()
	if c.ended.Load() != begun {
		return false
	}
	for _, idle := range others {
		if !idle() {
			return false
		}
	}
	return c.begun.Load() == begun // otherwise work came from the others, or went to them, meanwhile
}
