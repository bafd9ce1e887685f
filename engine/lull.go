package engine

import (
	"context"
	"time"
)

// lullLook is how often it is looked whether the engine has come to rest. It is at
// rest when it was so twice.
const lullLook = 100 * time.Millisecond

// lull finds the moment at which the work that informers bring when they fill is done.
type lull struct {
	// signal holds a token when an informer has filled.
	signal chan struct{}
}

func newLull() *lull { return &lull{signal: make(chan struct{}, 1)} }

// mark notes that an informer has filled.
func (l *lull) mark() {
	select {
	case l.signal <- struct{}{}:
	default: // it is noted already
	}
}

// run calls do each time the engine comes to rest after informers filled, until ctx
// ends. Otherwise no timer runs.
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
	}
}
