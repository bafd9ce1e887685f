package background

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"

	"kanon.dev/kanon/engine/activity"
	"kanon.dev/kanon/engine/queue"
)

// Queue sends requests by key. Make it with NewQueue.
type Queue[K comparable] struct {
	keys    workqueue.TypedRateLimitingInterface[K]
	counter *activity.Counter
	// laneOf returns the lane of a key. If nil, every key has its own.
	laneOf func(K) string

	mu sync.Mutex
	// lanes has the lanes that were ever used, which are few. Guarded by mu.
	lanes map[string]*queue.Semaphore[K]
}

// laneWidth is how many requests of one lane run in parallel.
const laneWidth = 2

// NewQueue starts goroutines, which end when Run returns. The pause after a failure grows from base to most, and does
// not count as work.
func NewQueue[K comparable](counter *activity.Counter, base, most time.Duration, laneOf func(K) string) *Queue[K] {
	return &Queue[K]{
		keys:    activity.NewQueue("", counter, workqueue.DefaultQueue[K](), base, most),
		counter: counter,
		laneOf:  laneOf,
		lanes:   make(map[string]*queue.Semaphore[K]),
	}
}

// Add sends the request of a key soon, and once more if it is being sent now.
func (q *Queue[K]) Add(k K) { q.keys.Add(k) }

// Retry sends the request of a key soon, as if it had never failed.
func (q *Queue[K]) Retry(k K) {
	q.keys.Forget(k)
	q.keys.Add(k)
}

// Run sends requests until ctx ends. send reports whether a key is done; if not, it is sent again later. send must end
// by itself.
func (q *Queue[K]) Run(ctx context.Context, workers int, send func(ctx context.Context, k K) (done bool)) {
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
func (q *Queue[K]) next(ctx context.Context, send func(ctx context.Context, k K) (done bool)) bool {
	k, ended := q.keys.Get()
	if ended {
		return false
	}
	defer func() {
		q.keys.Done(k)
		q.counter.End()
	}()
	if q.laneOf != nil {
		lane := q.lane(q.laneOf(k))
		if !lane.TryAcquire(k) {
			return true // Release returns the key when it is next
		}
		defer func() {
			if next, ok := lane.Release(); ok {
				q.keys.Add(next)
			}
		}()
	}
	switch {
	case ctx.Err() != nil:
	case send(ctx, k):
		q.keys.Forget(k)
	default:
		q.keys.AddRateLimited(k)
	}
	return true
}

func (q *Queue[K]) lane(name string) *queue.Semaphore[K] {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.lanes[name] == nil {
		q.lanes[name] = queue.NewSemaphore[K](laneWidth)
	}
	return q.lanes[name]
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
