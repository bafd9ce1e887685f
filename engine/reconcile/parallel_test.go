package reconcile

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// As many run at the same time as may, and none waits while it could run.
func TestSideBySide(t *testing.T) {
	t.Parallel()
	for _, limit := range []int{1, 2, 5} {
		for n := range 8 {
			synctest.Test(t, func(t *testing.T) {
				var mu sync.Mutex
				var busy, most, done int
				begin := time.Now()
				sideBySide(n, limit, func(i int) {
					mu.Lock()
					busy++
					most, done = max(most, busy), done+1<<i
					mu.Unlock()
					<-time.After(time.Second) // until all that may have begun
					mu.Lock()
					busy--
					mu.Unlock()
				})
				if want := min(n, limit); done != 1<<n-1 || most != want {
					t.Errorf("%d, %d at a time: done %b, %d at a time, want %d", n, limit, done, most, want)
				}
				if took, want := time.Since(begin), time.Duration((n+limit-1)/limit)*time.Second; took != want {
					t.Errorf("%d, %d at a time: took %s, want %s", n, limit, took, want)
				}
			})
		}
	}
}
