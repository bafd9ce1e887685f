package engine

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestLull(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		l := newLull()
		var busy atomic.Bool
		var lulls atomic.Int32
		busy.Store(true)
		var run sync.WaitGroup
		run.Go(func() { l.run(ctx, func() bool { return !busy.Load() }, func() { lulls.Add(1) }) })
		after := func(d time.Duration, want int32, why string) {
			t.Helper()
			<-time.After(d) // by the clock of the bubble
			synctest.Wait()
			if got := lulls.Load(); got != want {
				t.Errorf("%s: %d lulls, want %d", why, got, want)
			}
		}
		busy.Store(false)
		after(time.Minute, 0, "no informer has filled")
		busy.Store(true)
		l.mark()
		after(time.Minute, 0, "there is work")
		busy.Store(false)
		after(lullLook*3/2, 0, "it has rested only once")
		after(lullLook, 1, "it has come to rest")
		after(time.Hour, 1, "it rests on")
		l.mark()
		l.mark()
		after(time.Second, 2, "another has filled")
		for range 2 * manyPasses {
			l.passed()
		}
		after(time.Second, 2, "there were many passes right after the last")
		after(lullPause, 3, "the pause is over")
		after(time.Hour, 3, "it rests on")
		for range manyPasses - 1 {
			l.passed()
		}
		after(time.Second, 3, "there were some passes")
		l.passed()
		after(time.Second, 4, "there were many again")
		cancel()
		run.Wait()
	})
}
