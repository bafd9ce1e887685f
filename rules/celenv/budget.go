package celenv

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/cel-go/common/types"
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

// Over says whether the time is over. It begins with the first question, as with the
// first evaluation.
func (b *Budget) Over() bool {
	b.start()
	return !b.deadline.IsZero() && time.Now().After(b.deadline)
}

// spend takes units out of the budget for an expression that is not metered.
func (b *Budget) spend(units uint64) {
	if b.Cost < units {
		panic(endedError{ErrBudget})
	}
	b.Cost -= units
	if b.Over() {
		panic(endedError{ErrDeadline})
	}
}

// meter counts what one evaluation costs. cel-go's own tracker keeps a stack
// of values that grows with every turn of a loop and is searched at every turn,
// so that it costs more than the loop does. The units are near to CEL's: one
// for a call, a literal list or map and a turn of a loop, and one for every ten
// bytes of text, or every item of a list, that a call makes. Text that is only
// looked at costs nothing, since time is bounded too; Kanon's own functions, which
// do more with it, charge for what they read (functions.go).
type meter struct {
	ctx         context.Context //nolint:containedctx // Of the call of Eval that the meter is for; nil: it does not end.
	budget      *Budget
	cost, limit uint64
	// look is at which cost to look at the clock and the context again.
	look uint64
}

// lookEvery is how many units go by between two looks at the clock, which takes
// less time than one: for as many, calls that look at a long text without a charge
// take some tens of milliseconds.
const lookEvery = 50

// charge ends the evaluation when it has become too costly, or when its time is
// over. The panic is caught where the evaluation starts; there is no other way out
// of a loop that absorbs errors.
func (m *meter) charge(units uint64) {
	m.cost += units
	switch {
	case m.cost > m.limit:
		panic(endedError{fmt.Errorf("%w of %d", ErrCostLimit, m.limit)})
	case m.budget != nil && m.cost > m.budget.Cost:
		panic(endedError{ErrBudget})
	case m.cost >= m.look:
		m.lookAround()
	}
}

// lookAround ends the evaluation when its time is over.
func (m *meter) lookAround() {
	m.look = m.cost + lookEvery
	if b := m.budget; b != nil && !b.deadline.IsZero() && time.Now().After(b.deadline) {
		panic(endedError{ErrDeadline})
	}
	if m.ctx != nil && m.ctx.Err() != nil {
		panic(endedError{fmt.Errorf("%w: %w", ErrInterrupted, context.Cause(m.ctx))})
	}
}

// settle takes what was spent out of the budget.
func (m *meter) settle() {
	if m.budget != nil {
		m.budget.Cost -= min(m.cost, m.budget.Cost)
	}
}

// endedError ends an evaluation.
type endedError struct{ error }

func (e endedError) Unwrap() error { return e.error }
