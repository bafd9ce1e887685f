package engine

import (
	"sync"
	"sync/atomic"
)

// sideBySide calls do for each of n, limit of them at a time, and returns when all have returned. One of the limit is the
// caller's goroutine, which takes calls as all others do: a new one begins with a small stack, and growing it costs more than
// many a call.
func sideBySide(n, limit int, do func(i int)) {
	var next atomic.Int64
	work := func() {
		for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
			do(i)
		}
	}
	var others sync.WaitGroup
	for range min(n, limit) - 1 {
		others.Go(work)
	}
	work()
	others.Wait()
}
