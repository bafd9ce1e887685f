package celenv

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"
	cron "github.com/robfig/cron/v3"
)

const (
	// cronUnits is about the cost of parsing a schedule and its zone, nextUnits of finding its next time, previousUnits
	// of finding the previous one.
	cronUnits, nextUnits, previousUnits = 100, 20, 200
	// maxTimes is the longest list that between returns.
	maxTimes = 1000
)

//nolint:gochecknoglobals // a type of the language, never changed
var cronType = types.NewOpaqueType("kanon.Cron")

// schedule is the value of cron(expr, zone).
type schedule struct {
	expr, zone string
	times      *cron.SpecSchedule
}

// parseCron parses a schedule. It refuses one that never comes.
func parseCron(expr, zone string) (*schedule, error) {
	if strings.Contains(expr, "=") {
		return nil, errors.New("the zone is the second argument")
	}
	parsed, err := cron.ParseStandard(expr)
	if err != nil {
		return nil, fmt.Errorf("read the schedule: %w", err)
	}
	times, ok := parsed.(*cron.SpecSchedule)
	if !ok {
		return nil, errors.New("@every names no times of day; compare now with the last time instead")
	}
	if zone == "" || zone == "Local" {
		return nil, fmt.Errorf("%q is no zone; write one such as Europe/Berlin or UTC", zone)
	}
	if times.Location, err = time.LoadLocation(zone); err != nil {
		return nil, fmt.Errorf("there is no zone %q", zone)
	}
	if times.Next(time.Unix(0, 0)).IsZero() {
		return nil, fmt.Errorf("%q never comes", expr)
	}
	return &schedule{expr: expr, zone: zone, times: times}, nil
}

// next returns the first time after t, or the zero time if there is none in five years, which is as far as the library
// searches.
func (s *schedule) next(t time.Time) time.Time {
	return s.times.Next(t).UTC()
}

// maxLookBack is how far back previous searches: as far as next searches forward.
const maxLookBack = 5 * 366 * 24 * time.Hour

// previous returns the last time that is not after t, or the zero time if there is none in five years. The library only
// searches forward, so previous first finds a span before t that has a time, and then the last time in it by bisection.
func (s *schedule) previous(t time.Time) time.Time {
	span := time.Minute
	for s.isAfter(t.Add(-span), t) {
		if span > maxLookBack {
			return time.Time{}
		}
		span *= 2
	}
	last, end := s.next(t.Add(-span)), t
	for end.Sub(last) > time.Second {
		middle := last.Add(end.Sub(last) / 2)
		if s.isAfter(middle, t) {
			end = middle
			continue
		}
		last = s.next(middle)
	}
	// The remaining interval is a second, and its end may be a time of the schedule.
	if n := s.next(last); !n.IsZero() && !n.After(t) {
		return n
	}
	return last
}

// isAfter reports whether the schedule has no time in (from, t].
func (s *schedule) isAfter(from, t time.Time) bool {
	n := s.next(from)
	return n.IsZero() || n.After(t)
}

func newCron(args []ref.Val) ref.Val {
	expr, _ := args[0].(types.String)
	zone, _ := args[1].(types.String)
	s, err := parseCron(string(expr), string(zone))
	if err != nil {
		return types.NewErr("cron: %v", err)
	}
	return s
}

// cronArgs returns the schedule and the timestamp of a call.
func cronArgs(args []ref.Val) (*schedule, time.Time) {
	s, _ := args[0].(*schedule)
	at, _ := args[1].(types.Timestamp)
	return s, at.UTC()
}

// cronStep returns the function of a schedule and a time that searches another time; never is the end of its error.
func cronStep(name, never string, step func(*schedule, time.Time) time.Time) func([]ref.Val) ref.Val {
	return func(args []ref.Val) ref.Val {
		s, at := cronArgs(args)
		t := step(s, at)
		if t.IsZero() {
			return types.NewErr("%s: %q %s in five years", name, s.expr, never) // without the time, so that the message stays the same
		}
		return types.Timestamp{Time: t}
	}
}

func cronBetween(args []ref.Val) ref.Val {
	s, from := cronArgs(args)
	to, _ := args[2].(types.Timestamp)
	most, _ := args[3].(types.Int)
	if most < 0 || most > maxTimes {
		return types.NewErr("between: the most times must be from 0 to %d, and is %d", maxTimes, int64(most))
	}
	times := []ref.Val{}
	for t := s.next(from); len(times) < int(most) && !t.IsZero() && !t.After(to.UTC()); t = s.next(t) {
		times = append(times, types.Timestamp{Time: t})
	}
	return types.NewRefValList(Adapter{}, times)
}

// cronChange returns after how long the value of a call changes: when the first of the arguments that move with the
// clock reaches a time of the schedule.
func cronChange(args []ref.Val, moving []int) (Wait, bool) {
	s, ok := args[0].(*schedule)
	if !ok {
		return 0, false
	}
	first, found := Wait(0), false
	for i, speed := range moving {
		t, ok := args[i].(types.Timestamp)
		if speed == 0 || !ok {
			continue
		}
		n := s.next(t.UTC())
		if n.IsZero() {
			continue
		}
		if in := Wait(n.Sub(t.Time)); !found || in < first {
			first, found = in, true
		}
	}
	return first, found
}

// ConvertToNative implements ref.Val.
func (s *schedule) ConvertToNative(t reflect.Type) (any, error) {
	return nil, fmt.Errorf("a schedule has no form as %v", t)
}

// ConvertToType implements ref.Val.
func (s *schedule) ConvertToType(t ref.Type) ref.Val {
	switch t {
	case types.TypeType:
		return cronType
	case types.StringType:
		return types.String(s.expr)
	}
	return types.NewErr("a schedule cannot be made a %s", t.TypeName())
}

// Equal implements ref.Val.
func (s *schedule) Equal(other ref.Val) ref.Val {
	o, ok := other.(*schedule)
	return types.Bool(ok && o.expr == s.expr && o.zone == s.zone)
}

// Type implements ref.Val.
func (s *schedule) Type() ref.Type { return cronType }

// Value implements ref.Val.
func (s *schedule) Value() any { return s.expr }

// truncate rounds a time down to a multiple of a duration since 0001-01-01T00:00:00Z, which was a Monday, as
// time.Time.Truncate does.
func truncate(args []ref.Val) ref.Val {
	t, _ := args[0].(types.Timestamp)
	d, _ := args[1].(types.Duration)
	if d.Duration < time.Second {
		return types.NewErr("truncate: the duration must be a second or more, and is %s", DurationText(d))
	}
	return types.Timestamp{Time: t.UTC().Truncate(d.Duration)}
}

func truncateChange(args []ref.Val, _ []int) (Wait, bool) {
	from, ok := truncate(args).(types.Timestamp)
	t, _ := args[0].(types.Timestamp)
	d, _ := args[1].(types.Duration)
	return Wait(from.Time.Add(d.Duration).Sub(t.Time)), ok
}

// optionalIfMacro declares optionalIf(cond, value): optional.of(value) if cond is true, else optional.none(). It is a
// macro, so that value is not evaluated if cond is false.
func optionalIfMacro() cel.Macro {
	return cel.GlobalVarArgMacro("optionalIf",
		func(f cel.MacroExprFactory, _ ast.Expr, args []ast.Expr) (ast.Expr, *cel.Error) {
			if len(args) != 2 {
				at := int64(0)
				if len(args) > 0 {
					at = args[0].ID()
				}
				return nil, f.NewError(at, "optionalIf takes a condition and a value: optionalIf(cond, value)")
			}
			return f.NewCall(operators.Conditional, args[0],
				f.NewCall("optional.of", args[1]),
				f.NewCall("optional.none")), nil
		})
}

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
