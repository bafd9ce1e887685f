package template

import (
	"context"
	"errors"
	"strconv"

	"github.com/google/cel-go/common/types/ref"

	"kanon.dev/kanon/rules/celenv/run"
	"kanon.dev/kanon/rules/celenv/value"
	"kanon.dev/kanon/rules/diagnostic"
)

// NotShown stands in a message in place of a value, or of an error that may hold one, of a
// rule that has to do with Secrets: messages become conditions, Events and lines of logs,
// which more people read than Secrets.
const NotShown = "(not shown, because the rule has to do with Secrets)"

// Session is what all expressions and templates of one evaluation share: what they may still
// take, and what may be shown of it. It is not safe for concurrent use.
type Session struct {
	// Budget is what expressions may still cost, and the memory that values take.
	Budget run.Budget
	// Late is true once an expression was stopped at its deadline, and Starved once one was
	// because all evaluations together need more memory than there is.
	Late, Starved bool
	// Exceeded is the option whose limit was exceeded last; empty: none was.
	Exceeded string

	// ctx bounds the time that expressions may take. An evaluation ends before the call that
	// made it does, so the context does not outlive its caller.
	ctx    context.Context //nolint:containedctx // See above.
	limits *Limits
	// secrets is true if no value may be shown.
	secrets bool
	// room is how many values may still be put into the object that is rendered, and drafted
	// how many bytes were counted for it.
	room    int
	drafted int64
}

// NewSession begins an evaluation with its whole budget. shared is the memory of all
// evaluations, or nil. secrets is true if no value may be shown in a message.
func NewSession(ctx context.Context, limits *Limits, shared run.Account, secrets bool) Session {
	return Session{
		ctx: ctx, limits: limits, secrets: secrets,
		Budget: run.Budget{
			Cost: limits.ReconcileCost, Time: limits.Deadline,
			Memory: run.Memory{Limit: limits.ReconcileBytes, Shared: shared},
		},
	}
}

// Cost is what the expressions have cost so far, in CEL's units, and exceeded the option whose limit was exceeded last.
func (s *Session) Cost() (cost uint64, exceeded string) {
	return s.limits.ReconcileCost - s.Budget.Cost, s.Exceeded
}

// over is the problem of a limit that was exceeded. The message ends with the option's name.
func (s *Session) over(option, format string, args ...any) *Problem {
	s.Exceeded = option
	return Failure(format+" allowed by --"+option, args...)
}

// Begin gives the expressions of a call their time, and what is rendered in it its room.
func (s *Session) Begin() {
	s.Budget.Restart()
	s.MakeRoom()
}

// Renew gives a session that is done its whole budget again.
func (s *Session) Renew() { *s = NewSession(s.ctx, s.limits, nil, s.secrets) }

// MakeRoom begins another object: none has more values than bytes.
func (s *Session) MakeRoom() {
	s.room = s.limits.ObjectBytes
	s.Budget.Memory.Return(s.drafted)
	s.drafted = 0
}

// RenderAside renders what is no part of the object that is being rendered, as the value of
// a variable.
func (s *Session) RenderAside(t Template, in Scope) (val any, ok bool, p *Problem) {
	room, drafted := s.room, s.drafted
	s.drafted = 0
	s.MakeRoom()
	val, ok, p = t.Render(in)
	s.room, s.drafted = room, drafted // what was drafted here stays
	return val, ok, p
}

// Hold counts bytes that the evaluation holds until it ends.
func (s *Session) Hold(n int64) *Problem {
	return s.refusal(s.Budget.Memory.Take(n))
}

// draft counts bytes of what is being rendered. They are returned when the next rendering
// begins: what has come of it is counted as a whole.
func (s *Session) draft(n int64) *Problem {
	p := s.Hold(n)
	if p == nil {
		s.drafted += n
	}
	return p
}

// HoldObject holds what was rendered to the size that is allowed, and counts it.
func (s *Session) HoldObject(val any) *Problem {
	size := storedSize(val)
	if size > s.limits.ObjectBytes {
		return s.over("max-object-bytes", "has %s bytes, with the records of its fields that the API server keeps, more than the %s",
			diagnostic.Number(size), diagnostic.Number(s.limits.ObjectBytes))
	}
	return s.Hold(int64(size))
}

// List holds a list, or a map that is gone over, to the length that is allowed.
func (s *Session) List(n int) *Problem {
	if n <= s.limits.ListLength {
		return nil
	}
	return s.over("max-list-length", "gives %s items, more than the %s", diagnostic.Number(n), diagnostic.Number(s.limits.ListLength))
}

// Overdue is the problem of items that take too long. It is asked for each item of a
// forEach: what one takes may be little, and there may be many of them.
func (s *Session) Overdue() *Problem {
	if !s.Budget.Overdue() {
		return nil
	}
	s.Late = true
	return s.over("max-evaluation-time", "was stopped, because its items took longer than the %s", s.limits.Deadline)
}

// exceeded is the problem of an expression that was ended because of a limit; nil for every
// other error.
func (s *Session) exceeded(err error) *Problem {
	switch {
	case errors.Is(err, run.ErrCostLimit):
		return s.over("max-expression-cost", "costs more than the %s", diagnostic.Number(s.limits.ExpressionCost))
	case errors.Is(err, run.ErrBudget):
		return s.over("max-reconcile-cost", "with what the other expressions cost, it is more than the %s",
			diagnostic.Number(s.limits.ReconcileCost))
	case errors.Is(err, run.ErrDeadline):
		s.Late = true
		return s.over("max-evaluation-time", "was stopped, because the expressions took longer than the %s", s.limits.Deadline)
	case errors.Is(err, run.ErrMemory), errors.Is(err, run.ErrSharedMemory):
		return s.refusal(err)
	}
	return nil
}

// refusal is the problem of bytes that are more than there are.
func (s *Session) refusal(err error) *Problem {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, run.ErrSharedMemory):
		s.Starved = true
		return Failure("%s", err.Error())
	}
	return s.over("max-reconcile-bytes", "with what the other values take, it needs more memory than the %s bytes", diagnostic.Number(s.limits.ReconcileBytes))
}

func (s *Session) tooLarge() *Problem {
	return s.over("max-object-bytes", "is larger than the %s bytes", diagnostic.Number(s.limits.ObjectBytes))
}

// plain makes plain JSON of a value, as far as there is room for it in the object that is
// rendered, and memory.
func (s *Session) plain(val ref.Val, into value.Place) (any, error) {
	left := min(s.room, s.Budget.Memory.Parts())
	scarce := left < s.room
	before := left
	plain, err := value.ToJSONWithin(val, into, &left)
	parts := before - left
	s.room -= parts
	if errors.Is(err, value.ErrTooManyParts) && scarce {
		return nil, run.ErrMemory
	}
	if err != nil || parts == 1 {
		return plain, err //nolint:wrapcheck // The caller names the expression.
	}
	bytes := int64(parts) * run.PartBytes
	if err := s.Budget.Memory.Take(bytes); err != nil {
		return nil, err //nolint:wrapcheck // As above.
	}
	s.drafted += bytes
	return plain, nil
}

// Shown is a value as a message quotes it.
func (s *Session) Shown(text string) string {
	if s.secrets {
		return NotShown
	}
	return strconv.Quote(Shorten(text))
}

// describe names a value for a message: text as it stands, else the type.
func (s *Session) describe(val any, ok bool) string {
	if text, isText := val.(string); isText {
		return s.Shown(text)
	}
	if !ok {
		return "missing"
	}
	return TypeOf(val)
}

// TypeOf names the type of a JSON value.
func TypeOf(val any) string { return value.TypeText(value.FromJSON(val)) }

// Reason is what a message says of an error.
func (s *Session) Reason(err error) string {
	text := ErrorText(err)
	switch text {
	case "no such overload", "division by zero", "modulus by zero", "integer overflow", "unsigned integer overflow":
		return text // there is no value in these
	}
	if unfit, ok := errors.AsType[*value.UnfitError](err); ok && s.secrets {
		return "text " + NotShown + " is " + unfit.Found
	}
	if s.secrets {
		return "it fails; why is not shown, because the rule has to do with Secrets"
	}
	return text
}

// misplaced is what a message says of a value that cannot be written where it should.
func (s *Session) misplaced(err error) string {
	for _, wrong := range []error{value.ErrTextForBytes, value.ErrBytesForText, value.ErrBytesInText} {
		if s.secrets && errors.Is(err, wrong) {
			return wrong.Error() // the keys on the way may be computed
		}
	}
	return s.Reason(err)
}
