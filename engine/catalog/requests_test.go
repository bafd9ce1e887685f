package catalog

import (
	"context"
	"errors"
	"maps"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// TestQueue: a request that hangs delays no other key, one key has one request at a time, and
// what fails is sent again.
func TestQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newRequests[string](nil, time.Second, time.Minute)
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
