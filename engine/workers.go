package engine

import (
	"context"
	"sync"
	"time"

	"kanon.dev/kanon/engine/queue"
)

// standIn is how long a worker may take for a key before another worker stands in for it. Requests that take this long
// wait for something, such as an admission webhook.
const standIn = time.Second

// workers take keys from the queue and work on them. If the requests of one rule hang, its keys occupy as many workers
// as there are, but no more, as the queue hands out no more keys of a rule at a time. Others stand in for those workers,
// so that no other rule waits.
type workers struct {
	queue *queue.Queue
	// workOn works on a key, and calls Done of the queue.
	workOn func(ctx context.Context, k queue.Key)
	group  sync.WaitGroup
}

// run starts n workers, and waits for the end of all. They end when the queue is shut down. Waiting keys are dropped
// then: the next process reconciles everything.
func (w *workers) run(ctx context.Context, n int) {
	for range n {
		w.group.Go(func() { w.work(ctx) })
	}
	w.group.Wait()
}

// work works on one key after the other. A worker for which another one stands in ends once no key waits, and not
// before: after Done, the queue wakes no other worker.
func (w *workers) work(ctx context.Context) {
	for surplus := false; !surplus || w.queue.Len() > 0; {
		k, shutdown := w.queue.Get()
		if shutdown || ctx.Err() != nil {
			return
		}
		timer := time.AfterFunc(standIn, func() { w.group.Go(func() { w.work(ctx) }) })
		w.workOn(ctx, k)
		surplus = !timer.Stop() || surplus
	}
}
