package reconcile

import (
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// As many run at the same time as may, and none waits while it could run.
func TestInParallel(t *testing.T) {
	t.Parallel()
	for _, limit := range []int{1, 2, 5} {
		for n := range 8 {
			synctest.Test(t, func(t *testing.T) {
				var mu sync.Mutex
				var busy, most, done int
				begin := time.Now()
				inParallel(n, limit, func(i int, waits func()) {
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
func TestDoOfFewThatWait(t *testing.T) {
	t.Parallel()
	const each = time.Millisecond
	for waiting, want := range map[int]time.Duration{-1: 6 * each, 0: time.Second, 1: each + time.Second} {
		synctest.Test(t, func(t *testing.T) {
			var busy, done atomic.Int32
			begin := time.Now()
			inParallel(6, 5, func(i int, waits func()) {
				if i == waiting {
					waits()
					<-time.After(time.Second)
					return
				}
				if n := busy.Add(1); n > 1 {
					t.Errorf("while %d waits, %d calls are made at a time", waiting, n)
				}
				<-time.After(each)
				busy.Add(-1)
				done.Add(1)
			})
			if took := time.Since(begin); took != want {
				t.Errorf("while %d waits: took %s, want %s", waiting, took, want)
			}
			if got := done.Load(); waiting < 0 && got != 6 || waiting >= 0 && got != 5 {
				t.Errorf("while %d waits, %d other calls are made", waiting, got)
			}
		})
	}
}
