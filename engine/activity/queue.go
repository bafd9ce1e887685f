package activity

import (
	"time"

	"k8s.io/client-go/util/workqueue"
)

// counting orders keys like the queue that it embeds, and counts each as work.
type counting[K comparable] struct {
	workqueue.Queue[K]
	counter *Counter
}

// Push is called for a key when it has to wait for a worker.
func (q counting[K]) Push(k K) {
	q.counter.Begin()
	q.Queue.Push(k)
}

// NewQueue makes a work queue that hands out keys in the given order, and counts each as work. The pause of a key that
// fails is between base and limit; it does not count as work. Callers of Done must then call End of the counter: a key
// that was added again meanwhile is counted by then. client-go records metrics of a queue with a name, and none
// without.
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
