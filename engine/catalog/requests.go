package catalog

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"

	"kanon.dev/kanon/engine/queue"
)

// requests sends requests by key: one at a time for each key, several keys in parallel, with a growing pause after a
// failure. So a request that hangs delays only the rules that need it. Make it with newRequests.
type requests[K comparable] struct {
	keys    workqueue.TypedRateLimitingInterface[K]
	counter *queue.Counter
}

// newRequests starts goroutines, which end when Run returns. The pause after a failure grows from base to most, and does
// not count as work.
func newRequests[K comparable](counter *queue.Counter, base, most time.Duration) *requests[K] {
	return &requests[K]{
		keys:    queue.NewQueue("", counter, workqueue.DefaultQueue[K](), base, most),
		counter: counter,
	}
}

// Add sends the request of a key soon, and once more if it is being sent now.
func (q *requests[K]) Add(k K) { q.keys.Add(k) }

// Retry sends the request of a key soon, as if it had never failed.
func (q *requests[K]) Retry(k K) {
	q.keys.Forget(k)
	q.keys.Add(k)
}

// Run sends requests until ctx ends. send reports whether a key is done; if not, it is sent again later. send must end
// by itself.
func (q *requests[K]) Run(ctx context.Context, workers int, send func(ctx context.Context, k K) (done bool)) {
	var running sync.WaitGroup
	defer running.Wait()
	for range workers {
		running.Go(func() {
			for q.next(ctx, send) {
			}
		})
	}
	<-ctx.Done()
	q.keys.ShutDown()
}

// next sends one request. It returns false when the queue has shut down.
func (q *requests[K]) next(ctx context.Context, send func(ctx context.Context, k K) (done bool)) bool {
	k, ended := q.keys.Get()
	if ended {
		return false
	}
	defer func() {
		q.keys.Done(k)
		q.counter.End()
	}()
	switch {
	case ctx.Err() != nil:
	case send(ctx, k):
		q.keys.Forget(k)
	default:
		q.keys.AddRateLimited(k)
	}
	return true
}

// requestTimeout is how long the API server may take for one request. An admission webhook has at most 30 seconds.
const requestTimeout = 35 * time.Second

// errTimeout reports that a request was cancelled at its deadline.
var errTimeout = fmt.Errorf("the API server has not answered within %s", requestTimeout)

// withTimeout calls f with a deadline. If f exceeds it, the error is errTimeout.
func withTimeout(ctx context.Context, f func(ctx context.Context) error) error {
	limited, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	err := f(limited)
	if err != nil && limited.Err() != nil && ctx.Err() == nil {
		return errTimeout
	}
	return err
}
