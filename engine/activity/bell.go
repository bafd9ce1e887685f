package activity

import (
	"context"
	"time"
)

// Bell triggers a loop. If it is rung several times before the loop runs, the loop runs once. From the first ring until
// the end of that run, it counts as work.
type Bell struct {
	counter *Counter
	// rung holds a token until the loop runs.
	rung chan struct{}
}

// NewBell makes a bell whose work counts.
func NewBell(counter *Counter) *Bell { return &Bell{counter: counter, rung: make(chan struct{}, 1)} }

// Ring triggers the loop.
func (b *Bell) Ring() {
	b.counter.Begin() // before the loop can end it
	select {
	case b.rung <- struct{}{}:
	default: // it is rung already
		b.counter.End()
	}
}

// Loop calls work after first, whenever the bell is rung, and after the time that work last returned, until ctx ends.
// If that time is zero, it waits for the bell.
func (b *Bell) Loop(ctx context.Context, first time.Duration, work func() (again time.Duration)) {
	timer := time.NewTimer(first)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-b.rung:
		case <-timer.C:
			b.counter.Begin()
		}
		timer.Stop()
		if again := work(); again > 0 {
			timer.Reset(again)
		}
		b.counter.End()
	}
}
