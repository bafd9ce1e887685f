package reconcile

import (
	"sync"
	"sync/atomic"
)

// inParallel calls call for 0 to n-1 and returns when all calls have returned. It makes them one after the other. A call that is
// about to wait for the API server calls waits first: then the next call begins in another goroutine, as long as no more
// than limit run.
func inParallel(n, limit int, call func(i int, waits func())) {
	var next, running atomic.Int64
	var others sync.WaitGroup
	var work func()
	waits := func() {
		if int(next.Load()) < n && int(running.Add(1)) <= limit {
			others.Go(work)
		}
	}
	work = func() {
		for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
			call(i, waits)
		}
	}
	running.Store(1)
	work()
	others.Wait()
}
