package queue

import (
	"context"
	"sync/atomic"
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

// Counter counts pieces of work. The zero value has none. A nil Counter counts nothing.
type Counter struct{ begun, ended atomic.Int64 }

// Begin counts a piece of work until End is called.
func (c *Counter) Begin() {
	if c != nil {
		c.begun.Add(1)
	}
}

// End is called once for each Begin.
func (c *Counter) End() {
	if c != nil {
		c.ended.Add(1)
	}
}

// Idle reports whether there is no work, and all of the others, which know of work that is not counted, report the same
// at the same time.
func (c *Counter) Idle(others ...func() bool) bool {
	begun := c.begun.Load()
	if c.ended.Load() != begun {
		return false
	}
	for _, idle := range others {
		if !idle() {
			return false
		}
	}
	return c.begun.Load() == begun // otherwise work came from the others, or went to them, meanwhile
}

// Bell triggers a loop. If it is rung several times before the loop runs, the loop runs once. From the first ring until
// the end of that run, it counts as work.
type Bell struct {
	counter *Counter
	// rung holds a token until the loop runs.
	rung chan struct{}
}

// NewBell makes a bell whose work counts.
func NewBell(counter *Counter) *Bell { return &Bell{counter: counter, rung: make(chan struct{}, 1)} }

// Ring triggers the loop.
func (b *Bell) Ring() {
	b.counter.Begin() // before the loop can end it
	select {
	case b.rung <- struct{}{}:
	default: // it is rung already
		b.counter.End()
	}
}

// Loop calls work after first, whenever the bell is rung, and after the time that work last returned, until ctx ends.
// If that time is zero, it waits for the bell.
func (b *Bell) Loop(ctx context.Context, first time.Duration, work func() (again time.Duration)) {
	timer := time.NewTimer(first)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-b.rung:
		case <-timer.C:
			b.counter.Begin()
		}
		timer.Stop()
		if again := work(); again > 0 {
			timer.Reset(again)
		}
		b.counter.End()
	}
}
