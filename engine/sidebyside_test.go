package engine

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestSideBySide(t *testing.T) {
	t.Parallel()
	for _, limit := range []int{1, 2, 5} {
		for n := range 8 {
			synctest.Test(t, func(t *testing.T) {
				var mu sync.Mutex
				var busy, most, done int
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
				if done != 1<<n-1 || most > limit || n > 0 && most < min(n, max(1, limit-1)) {
					t.Errorf("%d, %d at a time: done %b, %d at a time", n, limit, done, most)
				}
			})
		}
	}
}
