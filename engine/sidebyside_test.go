package engine

import (
	"sync/atomic"
	"testing"
)

func TestSideBySide(t *testing.T) {
	t.Parallel()
	for _, limit := range []int{1, 2, 5} {
		for n := range 8 {
			var busy, most, done atomic.Int32
			sideBySide(n, limit, func(i int) {
				most.Store(max(most.Load(), busy.Add(1)))
				done.Add(1 << i)
				busy.Add(-1)
			})
			if got := done.Load(); got != 1<<n-1 || int(most.Load()) > limit {
				t.Errorf("%d, %d at a time: done %b, %d at a time", n, limit, got, most.Load())
			}
		}
	}
}
