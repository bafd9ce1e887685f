package run

import (
	"errors"
	"time"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"

	"kanon.dev/kanon/rules/celenv/value"
)

var (
	// ErrCostLimit is what an evaluation ends with that costs more than the limit
	// of one expression.
	ErrCostLimit = errors.New("the expression costs more than the limit")
	// ErrBudget is what an evaluation ends with that costs more than a Budget has
	// left.
	ErrBudget = errors.New("the expressions cost more than the limit together")
	// ErrDeadline is what an evaluation ends with that goes on after the time that
	// a Budget gives.
	ErrDeadline = errors.New("the expressions take longer than the limit")
	// ErrInterrupted is what an evaluation ends with whose context has ended.
	ErrInterrupted = errors.New("the evaluation was interrupted")
)

// Budget is what several evaluations may cost together and how long they may
// take. It is not safe for concurrent use.
type Budget struct {
	// Cost is what is left, in CEL's units.
	Cost uint64
	// Memory counts the bytes that values hold.
	Memory Memory
	// Time is how long all evaluations since Restart may take, from the first on
	// that could take long; 0: for ever.
	Time time.Duration

	deadline time.Time
	// decoded are the bytes of the base64 that was read.
	decoded map[string]types.Bytes
}

// Restart gives the evaluations that follow their whole time again.
func (b *Budget) Restart() { b.deadline = time.Time{} }

// start begins the time, if it has not begun.
func (b *Budget) start() {
	if b.Time > 0 && b.deadline.IsZero() {
		b.deadline = time.Now().Add(b.Time)
	}
}

// Overdue reports whether the time is over. It begins with the first question, as with the
// first evaluation.
func (b *Budget) Overdue() bool {
	b.start()
	return !b.deadline.IsZero() && time.Now().After(b.deadline)
}

// spend takes units out of the budget for an expression that is not metered.
func (b *Budget) spend(units uint64) {
	if b.Cost < units {
		panic(stopError{ErrBudget})
	}
	b.Cost -= units
	if b.Overdue() {
		panic(stopError{ErrDeadline})
	}
}

// stopError ends an evaluation.
type stopError struct{ error }

func (e stopError) Unwrap() error { return e.error }

// Decode gives the bytes of base64. The same text is decoded once and the bytes are shared, so
// that a loop cannot hold the same value many times over.
func (b *Budget) Decode(text string) ref.Val {
	if data, ok := b.decoded[text]; ok {
		return data
	}
	val := value.Decode(text)
	data, ok := val.(types.Bytes)
	if !ok {
		return val
	}
	if err := b.Memory.Take(value.ValueBytes + value.EntryBytes + int64(len(data))); err != nil {
		panic(stopError{err})
	}
	if b.decoded == nil {
		b.decoded = make(map[string]types.Bytes)
	}
	b.decoded[text] = data
	return data
}
