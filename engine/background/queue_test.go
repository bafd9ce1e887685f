package background

import (
	"context"
	"errors"
	"maps"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// TestQueue: a request that hangs delays no other key, one key has one request at a time, and
// what fails is sent again.
func TestQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := NewQueue[string](nil, time.Second, time.Minute, nil)
		ctx, cancel := context.WithCancel(t.Context())
		var mu sync.Mutex
		calls, hangs := map[string]int{}, make(chan struct{})
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			q.Run(ctx, 2, func(_ context.Context, k string) bool {
				mu.Lock()
				calls[k]++
				n := calls[k]
				mu.Unlock()
				if k == "hangs" {
					<-hangs
				}
				return k != "fails" || n == 3
			})
		}()
		q.Add("hangs")
		synctest.Wait()
		q.Add("hangs")
		q.Add("fails")
		q.Add("quick")
		<-time.After(10 * time.Second)
		mu.Lock()
		got := maps.Clone(calls)
		mu.Unlock()
		if want := map[string]int{"hangs": 1, "fails": 3, "quick": 1}; !maps.Equal(got, want) {
			t.Errorf("the requests were %v, want %v", got, want)
		}
		close(hangs)
		synctest.Wait()
		mu.Lock()
		if calls["hangs"] != 2 {
			t.Error("what was asked for meanwhile is not sent")
		}
		mu.Unlock()
		cancel()
		<-ended
	})
}

// TestLanes: requests of one lane that hang delay no other lane, and all of a lane are sent.
func TestLanes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := NewQueue(nil, time.Second, time.Minute, func(k string) string { lane, _, _ := strings.Cut(k, "/"); return lane })
		ctx, cancel := context.WithCancel(t.Context())
		var mu sync.Mutex
		calls, hangs := map[string]int{}, make(chan struct{})
		ended := make(chan struct{})
		count := func() map[string]int {
			mu.Lock()
			defer mu.Unlock()
			return maps.Clone(calls)
		}
		go func() {
			defer close(ended)
			q.Run(ctx, laneWidth+1, func(_ context.Context, k string) bool {
				mu.Lock()
				calls[k]++
				mu.Unlock()
				if strings.HasPrefix(k, "hangs/") {
					<-hangs
				}
				return true
			})
		}()
		for _, name := range []string{"a", "b", "c", "d"} {
			q.Add("hangs/" + name)
		}
		synctest.Wait()
		q.Add("hangs/d") // it waits in the line once
		q.Add("quick/a")
		q.Add("quick/b")
		synctest.Wait()
		if got := count(); got["quick/a"] != 1 || got["quick/b"] != 1 || len(got) != 2+laneWidth {
			t.Errorf("the requests were %v", got)
		}
		close(hangs)
		synctest.Wait()
		for _, name := range []string{"a", "b", "c", "d"} {
			if got := count()["hangs/"+name]; got != 1 {
				t.Errorf("%s was sent %d times", name, got)
			}
		}
		cancel()
		<-ended
	})
}

// TestTimeout: a request has a deadline, and the error says so.
func TestTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		from := time.Now()
		err := withTimeout(t.Context(), func(ctx context.Context) error {
			<-ctx.Done()
			return ctx.Err()
		})
		if !errors.Is(err, errTimeout) || time.Since(from) != requestTimeout {
			t.Errorf("after %s: %v", time.Since(from), err)
		}
	})
}
