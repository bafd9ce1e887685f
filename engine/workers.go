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
// so that no other rule waits. Make it with newWorkers.
type workers struct {
	queue *queue.Queue
	// workOn works on a key, and calls Done of the queue.
	workOn func(ctx context.Context, k queue.Key)
	group  sync.WaitGroup

	mu sync.Mutex
	// idle is how many workers wait for a key, and surplus is how many more workers there are than needed, because a
	// worker for which another one stands in is done. Guarded by mu.
	idle, surplus int
}

func newWorkers(q *queue.Queue, workOn func(ctx context.Context, k queue.Key)) *workers {
	return &workers{queue: q, workOn: workOn}
}

// run starts n workers, and waits for the end of all. They end when the queue is shut down. Waiting keys are dropped
// then: the next process reconciles everything.
func (w *workers) run(ctx context.Context, n int) {
	for range n {
		w.start(ctx)
	}
	w.group.Wait()
}

// start starts a worker.
func (w *workers) start(ctx context.Context) {
	w.group.Go(func() {
		for w.next(ctx) {
		}
	})
}

// next works on one key. It reports whether the worker is still needed.
func (w *workers) next(ctx context.Context) bool {
	k, shutdown := w.get()
	if shutdown || ctx.Err() != nil {
		return false
	}
	done := w.watch(ctx)
	w.workOn(ctx, k)
	done()
	return !w.retire()
}

// get waits for a key.
func (w *workers) get() (k queue.Key, shutdown bool) {
	w.addIdle(1)
	defer w.addIdle(-1)
	return w.queue.Get()
}

func (w *workers) addIdle(n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.idle += n
}

// watch starts a worker that stands in for the calling one, unless done is called before.
func (w *workers) watch(ctx context.Context) (done func()) {
	ended, replaced := false, false // guarded by mu
	timer := time.AfterFunc(standIn, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if !ended {
			replaced = true
			w.start(ctx) // the group does not end meanwhile, because the watched worker is in it
		}
	})
	return func() {
		timer.Stop()
		w.mu.Lock()
		defer w.mu.Unlock()
		ended = true
		if replaced {
			w.surplus++
		}
	}
}

// retire reports whether the calling worker ends because there are more than needed. It does not end while there is a
// key that nobody would take: after Done, the queue wakes no other worker.
func (w *workers) retire() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.surplus == 0 || w.idle > 0 && w.queue.Len() > 0 {
		return false
	}
	w.surplus--
	return true
}
