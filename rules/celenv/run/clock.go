package run

import (
	"cmp"
	"time"

	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"

	"kanon.dev/kanon/rules/celenv/function"
)

// ClockName is the name under which an activation gives the *Clock to the
// expressions that depend on the time. It cannot be written in one.
const ClockName = "@kanon_clock"

// Clock is the time of one evaluation, and when something that was computed
// from it changes. It is not safe for concurrent use.
type Clock struct {
	time time.Time
	next time.Time
}

// NewClock makes a clock that stands at a time, in whole seconds UTC.
func NewClock(now time.Time) Clock {
	return Clock{time: now.UTC().Truncate(time.Second)}
}

// Now is the time as a value.
func (c *Clock) Now() ref.Val { return types.Timestamp{Time: c.time} }

// NextChange is the first time, in whole seconds, at which something that was
// computed from the clock so far would be different; zero where there is none.
func (c *Clock) NextChange() time.Time { return c.next }

// noteChange notes that something changes in that time, rounded up to seconds.
func noteChange(frame *interpreter.ExecutionFrame, in function.Wait) {
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

// watchComparisons makes the comparisons that are listed note when they change.
// moving has for each how fast its two sides go: 1 for one that goes with the
// clock, as now and now - t do, -1 for one that goes against it, as t - now does.
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

// watchedComparison compares two times, or two durations, of which the difference changes by speed in a second.
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

// differenceOf is what lies between two times, or two durations, and its sign, also where it is too long to be told.
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

// holds reports whether a comparison holds between two values of which the
// difference has that sign.
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

// untilChange is the first number of whole seconds after which a comparison
// comes out otherwise, when the difference of its sides changes by speed in each
// second; false where that never happens.
func untilChange(operator string, difference time.Duration, speed int) (function.Wait, bool) {
	if speed == 0 {
		return 0, false
	}
	if speed < 0 {
		difference, speed, operator = -difference, -speed, flipped(operator)
	}
	// The difference grows. It only comes to nothing where it is below.
	if difference > 0 || difference < -maxWait {
		return 0, false
	}
	step := time.Duration(speed) * time.Second
	zero, exact := -difference/step, difference%step == 0
	now := holds(operator, cmp.Compare(difference, 0))
	if exact && zero > 0 && holds(operator, 0) != now {
		return function.Wait(zero * time.Second), true
	}
	if holds(operator, 1) != now {
		return function.Wait((zero + 1) * time.Second), true
	}
	return 0, false
}

// maxWait is the longest time that is waited for: beyond it the difference of
// two times does not fit time.Duration.
const maxWait = 200 * 365 * 24 * time.Hour

// flipped is the operator with its two sides exchanged.
func flipped(operator string) string {
	switch operator {
	case operators.Less:
		return operators.Greater
	case operators.LessEquals:
		return operators.GreaterEquals
	case operators.Greater:
		return operators.Less
	case operators.GreaterEquals:
		return operators.LessEquals
	}
	return operator
}
