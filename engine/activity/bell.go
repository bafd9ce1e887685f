package activity

import (
	"context"
	"time"
)

// Bell wakes a loop. Rung several times before the loop comes to it, it wakes the loop once. From then until the loop has
// come round there is work.
type Bell struct {
	counter *Counter
	// rung holds a token while the loop has yet to come.
	rung chan struct{}
}

// NewBell makes a bell of which the work counts.
func NewBell(counter *Counter) *Bell { return &Bell{counter: counter, rung: make(chan struct{}, 1)} }

// Ring wakes the loop.
func (b *Bell) Ring() {
	b.counter.Begin() // before the loop can end it
	select {
	case b.rung <- struct{}{}:
	default: // it is rung already
		b.counter.End()
	}
}

// Loop calls work when first has passed, whenever the bell was rung, and after the time that work returned last, until ctx ends.
// Zero: not before the bell is rung.
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
