package engine

import (
	"context"
	"sync/atomic"
	"time"
)

// lullLook is how often it is looked whether the engine has come to rest. It is at
// rest when it was so twice.
const lullLook = 100 * time.Millisecond

const (
	// manyPasses is how many passes are much work: they leave some MiB behind.
	manyPasses = 250
	// lullPause is how long after the last lull passes bring no other: a rule that is
	// never quite at rest, nor at work, is not to pay for many.
	lullPause = 15 * time.Second
)

// lull finds the moment at which much work is done: that which informers bring when they
// fill, or which many passes were.
type lull struct {
	// signal holds a token when an informer has filled, or there were many passes again.
	signal chan struct{}
	// passes is how many there were since the last lull, and last when that was, in
	// nanoseconds.
	passes, last atomic.Int64
}

func newLull() *lull { return &lull{signal: make(chan struct{}, 1)} }

// mark notes that an informer has filled, or that there was as much to do.
func (l *lull) mark() {
	select {
	case l.signal <- struct{}{}:
	default: // it is noted already
	}
}

// passed notes that a pass has ended.
func (l *lull) passed() {
	passes := l.passes.Add(1)
	if passes < manyPasses {
		return
	}
	switch left := lullPause - time.Since(time.Unix(0, l.last.Load())); {
	case left <= 0:
		l.mark()
	case passes == manyPasses:
		time.AfterFunc(left, l.mark) // there may be no pass after that
	}
}

// run calls do each time the engine comes to rest after much work, until ctx ends.
// Otherwise no timer runs.
func (l *lull) run(ctx context.Context, atRest func() bool, do func()) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-l.signal:
		}
		ticker := time.NewTicker(lullLook)
		for rested := 0; rested < 2; {
			select {
			case <-ctx.Done():
				ticker.Stop()
				return
			case <-l.signal:
				rested = 0
			case <-ticker.C:
				rested++
				if !atRest() {
					rested = 0
				}
			}
		}
		ticker.Stop()
		do()
		l.passes.Store(0)
		l.last.Store(time.Now().UnixNano())
	}
}
