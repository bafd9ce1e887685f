package engine

import (
	"context"
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"

	"kanon.dev/kanon/engine/queue"
)

// errands are requests to the API server that somebody asks for and does not wait for.
// A few goroutines make them, those of one key one after the other. What fails is tried
// again, after pauses that grow. Keys that are likely to hang together share a lane, which
// has but a part of the goroutines.
type errands[K comparable] struct {
	queue workqueue.TypedRateLimitingInterface[K]
	// laneOf names the lane of a key. nil: every key has its own.
	laneOf func(K) string

	mu sync.Mutex
	// lanes has those that were ever used, which are few. Guarded by mu.
	lanes map[string]*queue.Semaphore[K]
}

// laneWidth is how many errands of one lane are made at the same time.
const laneWidth = 2

// newErrands starts goroutines, which end when run returns.
func newErrands[K comparable](pause, longest time.Duration, laneOf func(K) string) *errands[K] {
	return &errands[K]{
		queue:  workqueue.NewTypedRateLimitingQueue(workqueue.NewTypedItemExponentialFailureRateLimiter[K](pause, longest)),
		laneOf: laneOf,
		lanes:  make(map[string]*queue.Semaphore[K]),
	}
}

// ask has the errand of a key run soon, and once more if it is running now.
func (e *errands[K]) ask(k K) { e.queue.Add(k) }

// run makes errands until ctx ends. do tells whether a key is done; if not, it is tried
// again. It must come to an end by itself.
func (e *errands[K]) run(ctx context.Context, workers int, do func(ctx context.Context, k K) (done bool)) {
	var running sync.WaitGroup
	defer running.Wait()
	for range workers {
		running.Go(func() {
			for e.next(ctx, do) {
			}
		})
	}
	<-ctx.Done()
	e.queue.ShutDown()
}

// next makes one errand; false when there are no more.
func (e *errands[K]) next(ctx context.Context, do func(ctx context.Context, k K) (done bool)) bool {
	k, ended := e.queue.Get()
	if ended {
		return false
	}
	defer e.queue.Done(k)
	if e.laneOf != nil {
		lane := e.lane(e.laneOf(k))
		if !lane.TryAcquire(k) {
			return true // its turn comes
		}
		defer func() {
			if next, ok := lane.Release(); ok {
				e.queue.Add(next)
			}
		}()
	}
	switch {
	case ctx.Err() != nil:
	case do(ctx, k):
		e.queue.Forget(k)
	default:
		e.queue.AddRateLimited(k)
	}
	return true
}

// lane is the semaphore of a lane.
func (e *errands[K]) lane(name string) *queue.Semaphore[K] {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.lanes[name] == nil {
		e.lanes[name] = queue.NewSemaphore[K](laneWidth)
	}
	return e.lanes[name]
}

// requestLimit is how long the API server may take for one request of an errand. An
// admission webhook has 30 seconds at the most.
const requestLimit = 35 * time.Second

// withLimit calls f with a deadline. The error says so where it was exceeded.
func withLimit(ctx context.Context, f func(ctx context.Context) error) error {
	limited, cancel := context.WithTimeout(ctx, requestLimit)
	defer cancel()
	err := f(limited)
	if err != nil && limited.Err() != nil && ctx.Err() == nil {
		return errNoAnswer
	}
	return err
}
