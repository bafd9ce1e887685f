package activity

import (
	"time"

	"k8s.io/client-go/util/workqueue"
)

// counting orders the keys of a work queue as another one does, and counts each as work.
type counting[K comparable] struct {
	workqueue.Queue[K]
	counter *Counter
}

// Push is called for a key when it has to wait for a worker.
func (q counting[K]) Push(k K) {
	q.counter.Begin()
	q.Queue.Push(k)
}

// NewQueue makes a work queue that hands its keys out as order has them, and counts each as work. The pause of a key that fails
// grows from base to limit; it does not count. Whoever calls Done calls End of the counter afterwards: a key that was added again
// meanwhile has been counted by then. client-go measures a queue with a name; one without is not measured.
func NewQueue[K comparable](name string, counter *Counter, order workqueue.Queue[K], base, limit time.Duration) workqueue.TypedRateLimitingInterface[K] {
	return workqueue.NewTypedRateLimitingQueueWithConfig(
		workqueue.NewTypedItemExponentialFailureRateLimiter[K](base, limit),
		workqueue.TypedRateLimitingQueueConfig[K]{
			DelayingQueue: workqueue.NewTypedDelayingQueueWithConfig(workqueue.TypedDelayingQueueConfig[K]{
				Name:  name,
				Queue: workqueue.NewTypedWithConfig(workqueue.TypedQueueConfig[K]{Name: name, Queue: counting[K]{order, counter}}),
			}),
		})
}
