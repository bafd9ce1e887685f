// Package outcome is what one reconcile of a key came to. A worker gives the key back to the queue accordingly:
//
//	out := outcome.Outcome{Verdict: outcome.Waiting} // for an event
//	out.RequeueAfter(time.Minute)                    // or for the time, whichever comes first
//
// A panic is an outcome, too: [ContainPanic] makes an error of it, so that one parent with input that nobody thought of does not
// end the work on all the others.
package outcome

import (
	"fmt"
	"runtime/debug"
	"time"
)

// Outcome is what one reconcile of a key came to.
type Outcome struct {
	Verdict Verdict
	// After is how long it takes until the key has to be reconciled again although no event says so; zero: no such time is
	// known.
	After time.Duration
	// Requested is true if somebody has asked for the reconcile: failures before it do not count any more.
	Requested bool
	// Denied is what the rule's ServiceAccount may not do, and would have to; empty: nothing is known.
	Denied string
	// Waits is why the removal of a rule cannot go on with the parent; empty: nothing is known.
	Waits string
	// Err is what the log says of a reconcile that failed.
	Err error
}

// AtLeast is an outcome with a verdict that is not less than another.
func (o Outcome) AtLeast(v Verdict) Outcome {
	o.Verdict = max(o.Verdict, v)
	return o
}

// RequeueAfter asks for another reconcile after a time, or before. A time that has passed means at once.
func (o *Outcome) RequeueAfter(d time.Duration) {
	d = max(d, time.Nanosecond)
	if o.After == 0 || d < o.After {
		o.After = d
	}
}

// Verdict says what has to happen for a key to be reconciled again. A greater one outweighs a lesser one.
type Verdict int

const (
	// Settled means that nothing is left to do until an event says so.
	Settled Verdict = iota
	// Waiting means that an event will come. None is missed, so the key can rest.
	Waiting
	// Later means that it is too early for the key, which is reconciled again after a time.
	Later
	// Again means that something failed, or depends on what sends no event: the key comes back with growing pauses.
	Again
)

// String names the verdict in the log.
func (v Verdict) String() string {
	return [...]string{Settled: "settled", Waiting: "waiting", Later: "later", Again: "again"}[v]
}

// PanicError is a panic as an error.
type PanicError struct {
	cause any
	Stack []byte
}

func (e *PanicError) Error() string { return fmt.Sprintf("panic: %v", e.cause) }

// ContainPanic is for defer: it makes a panic the error that the function returns.
func ContainPanic(err *error) {
	if cause := recover(); cause != nil {
		*err = &PanicError{cause: cause, Stack: debug.Stack()}
	}
}
