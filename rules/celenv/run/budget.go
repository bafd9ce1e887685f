package run

import (
	"errors"
	"time"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"

	"kanon.dev/kanon/rules/celenv"
)

var (
	// ErrCostLimit is the error of an evaluation that costs more than the limit of one expression.
	ErrCostLimit = errors.New("the expression costs more than the limit")
	// ErrBudget is the error of an evaluation that costs more than its Budget has left.
	ErrBudget = errors.New("the expressions cost more than the limit together")
	// ErrDeadline is the error of an evaluation that exceeds the Time of its Budget.
	ErrDeadline = errors.New("the expressions take longer than the limit")
	// ErrInterrupted is the error of an evaluation whose context is done.
	ErrInterrupted = errors.New("the evaluation was interrupted")
)

// Budget limits the cost, time and memory of several evaluations together. It is not safe for concurrent use.
type Budget struct {
	// Cost is the remaining cost, in units of the meter.
	Cost uint64
	// Memory counts the bytes of values.
	Memory Memory
	// Time is how long all evaluations after Restart may take together. It starts with the first evaluation that could
	// take long. 0 means no limit.
	Time time.Duration

	deadline time.Time
	// decoded caches decoded base64.
	decoded map[string]types.Bytes
}

// Restart resets the time for the evaluations that follow.
func (b *Budget) Restart() { b.deadline = time.Time{} }

// start starts the time, if it has not started.
func (b *Budget) start() {
	if b.Time > 0 && b.deadline.IsZero() {
		b.deadline = time.Now().Add(b.Time)
	}
}

// Overdue reports whether the time is over. The first call starts the time if no evaluation has.
func (b *Budget) Overdue() bool {
	b.start()
	return !b.deadline.IsZero() && time.Now().After(b.deadline)
}

// stopError is the panic that ends an evaluation.
type stopError struct{ error }

func (e stopError) Unwrap() error { return e.error }

// Decode decodes base64. It decodes the same text once and shares the bytes, so that a loop cannot fill the memory with
// copies.
func (b *Budget) Decode(text string) ref.Val {
	if data, ok := b.decoded[text]; ok {
		return data
	}
	val := celenv.Decode(text)
	data, ok := val.(types.Bytes)
	if !ok {
		return val
	}
	if err := b.Memory.Take(celenv.ValueBytes + celenv.EntryBytes + int64(len(data))); err != nil {
		panic(stopError{err})
	}
	if b.decoded == nil {
		b.decoded = make(map[string]types.Bytes)
	}
	b.decoded[text] = data
	return data
}
