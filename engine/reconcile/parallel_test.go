package reconcile

import (
	"slices"
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
				sideBySide(n, limit, func(i int, waits func()) {
					waits()
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

// The calls that do not wait are made one after the other, also while others wait.
func TestSideBySideOfFewThatWait(t *testing.T) {
	t.Parallel()
	for _, waiting := range []int{-1, 0, 1} {
		synctest.Test(t, func(t *testing.T) {
			var fast, want []int // by one goroutine after the other
			sideBySide(6, 5, func(i int, waits func()) {
				if i == waiting {
					waits()
					<-time.After(time.Second)
					return
				}
				fast = append(fast, i)
			})
			for i := range 6 {
				if i != waiting {
					want = append(want, i)
				}
			}
			if !slices.Equal(fast, want) {
				t.Errorf("while %d waits, the calls were made in the order %v, want %v", waiting, fast, want)
			}
		})
	}
}
