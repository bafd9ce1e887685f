package rules

import (
	"context"
	"errors"

	"kanon.dev/kanon/rules/celenv/run"
)

// itemBytes is about what an item of a forEach takes besides its object, variableBytes
// what a variable of an item takes besides its value, and tupleBytes what the value of
// a forEach name takes.
const itemBytes, variableBytes, tupleBytes = 320, 80, 40

// hold counts bytes that the evaluation holds until it ends.
func (e *Evaluation) hold(n int64) *problem {
	return e.refusal(e.budget.Memory.Take(n))
}

// draft counts bytes of what is being rendered. They are returned when the next
// rendering begins: what has come of it is counted as a whole.
func (e *Evaluation) draft(n int64) *problem {
	p := e.hold(n)
	if p == nil {
		e.drafted += n
	}
	return p
}

// refusal is the problem of bytes that there are not.
func (e *Evaluation) refusal(err error) *problem {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, run.ErrSharedMemory):
		e.starved = true
		return failure("%s", err.Error())
	}
	return e.prog.limits.tooMuch()
}

// holdObject holds what was rendered to the size that is allowed, and counts it.
func (e *Evaluation) holdObject(val any) *problem {
	n, p := e.prog.limits.object(val)
	if p != nil {
		return p
	}
	return e.hold(int64(n))
}

// holdItem counts an item of a body.
func (e *Evaluation) holdItem(b *body) *problem {
	return e.hold(itemBytes + variableBytes*int64(len(b.locals)))
}

// Starved says whether the evaluation was ended because all evaluations together need
// more memory than there is. That is no fault of the rule: nothing that came of the
// evaluation counts, and it is worth another try, for which memory is reserved.
func (e *Evaluation) Starved() bool { return e.starved }

// Reserve waits until there is as much memory as the evaluation can need, or ctx ends.
// It comes before anything is evaluated; the evaluation is not starved then.
func (e *Evaluation) Reserve(ctx context.Context) error {
	return e.budget.Memory.Reserve(ctx) //nolint:wrapcheck // It says what was waited for.
}

// TryReserve is Reserve that does not wait: it tells whether there is as much memory.
func (e *Evaluation) TryReserve() bool { return e.budget.Memory.TryReserve() }

// Close returns the memory of the evaluation to those that share it. Its caller may
// keep what was rendered; nothing may be evaluated any more. It may be called again.
func (e *Evaluation) Close() { e.budget.Memory.Close() }
