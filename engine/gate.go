package engine

import (
	"slices"
	"sync"
)

// gate lets a few keys through at a time, and remembers which others want to.
type gate[K comparable] struct {
	// most is how many are let through at a time.
	most int

	mu sync.Mutex
	// inside is how many there are now, and line has the keys that want in, the first
	// first. Guarded by mu.
	inside int
	line   []K
}

// enter tells whether a key may go on now; if not, it is in the line.
func (g *gate[K]) enter(k K) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	at := slices.Index(g.line, k)
	if g.inside >= g.most {
		if at < 0 {
			g.line = append(g.line, k)
		}
		return false
	}
	if at >= 0 {
		g.line = slices.Delete(g.line, at, at+1)
	}
	g.inside++
	return true
}

// leave ends what enter began, and says whose turn it is. A key that does not come, as
// there is nothing to do for it any more, keeps nobody else from it.
func (g *gate[K]) leave() (next K, ok bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.inside--
	if len(g.line) == 0 {
		return next, false
	}
	next = g.line[0]
	g.line = slices.Delete(g.line, 0, 1)
	return next, true
}

// forget takes a key out of the line.
func (g *gate[K]) forget(k K) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if at := slices.Index(g.line, k); at >= 0 {
		g.line = slices.Delete(g.line, at, at+1)
	}
}
