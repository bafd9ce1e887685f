package queue

import (
	"fmt"
	"runtime/debug"
	"time"
)

// Outcome is the result of one reconcile of a key.
type Outcome struct {
	Verdict Verdict
	// After is the time until the key must be reconciled again even without an event; zero means that there is no such
	// time.
	After time.Duration
	// Awaits are the events that the key waits for.
	Awaits []Event
	// Requested is true if somebody requested the reconcile: earlier failures no longer count.
	Requested bool
	// Undecided is true if the evaluation was given up for lack of memory or time.
	Undecided bool
	// Denied is what the rule's ServiceAccount needs and may not do; empty if nothing was denied.
	Denied string
	// Waits is why the removal of a rule cannot proceed for the parent; empty if it can.
	Waits string
	// Err is logged: why the reconcile failed.
	Err error
	// Retry is why the reconcile is repeated although nothing failed: an object changed meanwhile. It is logged only if
	// that does not end.
	Retry error
}

// AtLeast returns the outcome with its verdict raised to v, if it was less.
func (o Outcome) AtLeast(v Verdict) Outcome {
	o.Verdict = max(o.Verdict, v)
	return o
}

// RequeueAfter asks for another reconcile after d at the latest. A time that has passed means at once.
func (o *Outcome) RequeueAfter(d time.Duration) {
	d = max(d, time.Nanosecond)
	if o.After == 0 || d < o.After {
		o.After = d
	}
}

// Verdict says what causes the next reconcile of a key. A greater verdict outweighs a lesser one.
type Verdict int

const (
	// Settled means that nothing is left to do until an event.
	Settled Verdict = iota
	// waiting means that an event will follow. None is missed, so the key is not requeued. Await returns it.
	waiting
	// Later means that the key came too early, and is reconciled again after a time.
	Later
	// Again means that something failed, or depends on something that sends no event: the key is retried with growing
	// pauses.
	Again
)

// String names the verdict in the log.
func (v Verdict) String() string {
	return [...]string{Settled: "settled", waiting: "waiting", Later: "later", Again: "again"}[v]
}

// PanicError is a panic as an error.
type PanicError struct {
	cause any
	Stack []byte
}

func (e *PanicError) Error() string { return fmt.Sprintf("panic: %v", e.cause) }

// ContainPanic is for defer: it turns a panic into the error that the function returns.
func ContainPanic(err *error) {
	if cause := recover(); cause != nil {
		*err = &PanicError{cause: cause, Stack: debug.Stack()}
	}
}
