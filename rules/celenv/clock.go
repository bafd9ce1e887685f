package celenv

import (
	"cmp"
	"time"

	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"
)

// ClockName is the name by which expressions that depend on the time resolve the *Clock from the activation. No
// expression can contain it.
const ClockName = "@kanon_clock"

// Clock has the time of one evaluation, and records when a value that was computed from it changes. It is not safe for
// concurrent use.
type Clock struct {
	time time.Time
	next time.Time
}

// NewClock returns a clock that is stopped at a time, in whole seconds UTC.
func NewClock(now time.Time) Clock {
	return Clock{time: now.UTC().Truncate(time.Second)}
}

// Now returns the time as a value.
func (c *Clock) Now() ref.Val { return types.Timestamp{Time: c.time} }

// NextChange returns the first time, in whole seconds, at which a value that was computed from the clock so far would
// be different; zero if there is none.
func (c *Clock) NextChange() time.Time { return c.next }

// noteChange records that a value changes after that time, rounded up to seconds.
func noteChange(frame *interpreter.ExecutionFrame, in Wait) {
	val, ok := frame.ResolveName(ClockName)
	if !ok {
		return
	}
	c, ok := val.(*Clock)
	if !ok {
		return
	}
	d := time.Duration(in)
	if rest := d % time.Second; rest > 0 {
		d += time.Second - rest
	}
	at := c.time.Add(max(d, time.Second))
	if c.next.IsZero() || at.Before(c.next) {
		c.next = at
	}
}

// watchComparisons makes the comparisons in moving record when their result changes. moving has the speeds of both
// sides: 1 for a side that grows with the clock, such as now or now - t, and -1 for one that shrinks, such as t - now.
func watchComparisons(moving map[int64][]int) interpreter.PlannerOption {
	return decorateCalls(func(call interpreter.InterpretableCall) exec {
		speeds := moving[call.ID()]
		if !IsComparison(call.Function()) || len(speeds) != 2 {
			return nil
		}
		return watchedComparison(call, speeds[0]-speeds[1])
	})
}

// IsComparison reports whether an operator compares its two sides.
func IsComparison(operator string) bool {
	switch operator {
	case operators.Less, operators.LessEquals, operators.Greater, operators.GreaterEquals, operators.Equals, operators.NotEquals:
		return true
	}
	return false
}

// watchedComparison compares two times, or two durations, whose difference changes by speed seconds in a second.
func watchedComparison(call interpreter.InterpretableCall, speed int) exec {
	return func(frame *interpreter.ExecutionFrame) ref.Val {
		lhs, rhs, failed := operandsOf(call, frame)
		if failed != nil {
			return failed
		}
		sign, difference, ok := differenceOf(lhs, rhs)
		if !ok {
			return call.Exec(frame)
		}
		if in, ok := untilChange(call.Function(), difference, speed); ok {
			noteChange(frame, in)
		}
		return types.Bool(holds(call.Function(), sign))
	}
}

// differenceOf returns the difference of two times, or of two durations, and its sign. The sign is right even if the
// difference overflows.
func differenceOf(lhs, rhs ref.Val) (sign int, difference time.Duration, ok bool) {
	switch l := lhs.(type) {
	case types.Timestamp:
		if r, ok := rhs.(types.Timestamp); ok {
			return l.Time.Compare(r.Time), l.Sub(r.Time), true
		}
	case types.Duration:
		if r, ok := rhs.(types.Duration); ok {
			return cmp.Compare(l.Duration, r.Duration), l.Duration - r.Duration, true
		}
	}
	return 0, 0, false
}

// holds reports whether a comparison is true for two values whose difference has that sign.
func holds(operator string, sign int) bool {
	switch operator {
	case operators.Less:
		return sign < 0
	case operators.LessEquals:
		return sign <= 0
	case operators.Greater:
		return sign > 0
	case operators.GreaterEquals:
		return sign >= 0
	case operators.Equals:
		return sign == 0
	}
	return sign != 0
}

// untilChange returns the whole seconds after which the result of a comparison first changes, if the difference of its
// sides changes by speed seconds in a second. It returns false if the result never changes.
func untilChange(operator string, difference time.Duration, speed int) (Wait, bool) {
	if speed == 0 {
		return 0, false
	}
	direction := 1
	if speed < 0 {
		difference, speed, direction = -difference, -speed, -1
	}
	// The difference grows now, so it reaches 0 only if it is not above.
	if difference > 0 || difference < -maxWait {
		return 0, false
	}
	step := time.Duration(speed) * time.Second
	zero, exact := -difference/step, difference%step == 0
	now := holds(operator, direction*cmp.Compare(difference, 0))
	if exact && zero > 0 && holds(operator, 0) != now {
		return Wait(zero * time.Second), true
	}
	if holds(operator, direction) != now {
		return Wait((zero + 1) * time.Second), true
	}
	return 0, false
}

// maxWait bounds the time until a change. Well above it, the difference of two times does not fit time.Duration.
const maxWait = 200 * 365 * 24 * time.Hour
