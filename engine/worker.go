package engine

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/go-logr/logr"

	"kanon.dev/kanon/engine/conditions"
	"kanon.dev/kanon/engine/queue"
)

// outcome is what one reconcile of a key came to.
type outcome struct {
	verdict verdict
	// after is how long it takes until the key has to be reconciled again although no event says so; zero: no such time is
	// known.
	after time.Duration
	// err is what the log says of a reconcile that failed.
	err error
}

// outcomeOf is the outcome of a reconcile that had these problems. What goes away without an event is tried again; what no
// condition reports is for the log.
func outcomeOf(problems []conditions.Problem) outcome {
	var out outcome
	var errs []error
	for _, problem := range problems {
		if problem.IsEventful() {
			out = out.atLeast(waiting)
			continue
		}
		out = out.atLeast(again)
		if problem.IsLogged() {
			errs = append(errs, fmt.Errorf("%s: %w", problem.Subject, problem.Err))
		}
	}
	out.err = errors.Join(errs...)
	return out
}

// atLeast is an outcome with a verdict that is not less than another.
func (o outcome) atLeast(v verdict) outcome {
	o.verdict = max(o.verdict, v)
	return o
}

// requeueAfter asks for another reconcile after a time, or before. A time that has passed means at once.
func (o *outcome) requeueAfter(d time.Duration) {
	d = max(d, atOnce)
	if o.after == 0 || d < o.after {
		o.after = d
	}
}

// atOnce is the shortest time after which a key can be reconciled again.
const atOnce = time.Nanosecond

// verdict says what has to happen for a key to be reconciled again.
type verdict int

const (
	// settled: nothing is left to do until an event says so.
	settled verdict = iota
	// waiting: an event will come; none is missed, so the key can rest.
	waiting
	// later: it is too early for the key, which is reconciled again after a time.
	later
	// again: something failed, or depends on what sends no event; the key
	// comes back with growing pauses.
	again
)

// String names the verdict in the log.
func (v verdict) String() string {
	switch v {
	case settled:
		return "settled"
	case waiting:
		return "waiting"
	case later:
		return "later"
	case again:
		return "again"
	default:
		return "unknown"
	}
}

// work takes keys from the queue, one at a time, until ctx ends. What waits then
// is left: the next process reconciles everything.
func (e *Engine) work(ctx context.Context) {
	for {
		k, shutdown := e.queue.Get()
		if shutdown || ctx.Err() != nil {
			return
		}
		e.workOn(ctx, k)
	}
}

// workOn reconciles one key and gives it back to the queue.
func (e *Engine) workOn(ctx context.Context, k queue.Key) {
	defer e.queue.Done(k)
	log := logr.FromContextOrDiscard(ctx).WithValues("rule", e.running.nameOf(k.Rule), "parent", k.Parent.String())
	if k.Patch != "" {
		log = logr.FromContextOrDiscard(ctx).WithValues("rule", e.running.nameOf(k.Rule), "patch", k.Patch, "target", k.Parent.String())
	}
	out := e.reconcileSafely(logr.NewContext(ctx, log), k)
	if out.err != nil && ctx.Err() == nil {
		if panicked, ok := errors.AsType[*panicError](out.err); ok {
			log = log.WithValues("stack", string(panicked.stack))
		}
		log.Error(out.err, "Reconcile failed; it is tried again")
	}
	if e.running.load().byID[k.Rule] == nil {
		e.forgetKey(k) // the rule was stopped meanwhile, and forgotten before this reconcile ended
	}
	log.V(4).Info("Reconciled", "verdict", out.verdict, "after", out.after)
	if out.after > 0 {
		e.queue.AddAfter(k, out.after)
	}
	switch out.verdict {
	case settled, waiting:
		failed := e.queue.NumRequeues(k) > 0
		e.queue.Forget(k)
		if failed {
			e.queue.AddPatient(k) // what came of its own writes was passed over meanwhile
		}
	case later: // a pause after a failure, if there is one, goes on
	case again:
		e.queue.AddRateLimited(k)
	}
}

// reconcileSafely turns a panic into an error, so that one parent with input
// that nobody thought of does not end the work on all the others.
func (e *Engine) reconcileSafely(ctx context.Context, k queue.Key) (out outcome) {
	out.verdict = again // of a panic
	defer containPanic(&out.err)
	out = e.reconcile(ctx, k)
	if errors.Is(out.err, context.Canceled) || errors.Is(out.err, errNoMemory) {
		out.verdict, out.err = again, nil
	}
	return out
}

// panicError is a panic as an error.
type panicError struct {
	cause any
	stack []byte
}

func (e *panicError) Error() string { return fmt.Sprintf("panic: %v", e.cause) }

// containPanic is for defer: it makes a panic the error that the function returns.
func containPanic(err *error) {
	if cause := recover(); cause != nil {
		*err = &panicError{cause: cause, stack: debug.Stack()}
	}
}
