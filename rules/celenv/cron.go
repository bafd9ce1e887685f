package celenv

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
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

func cronFunctions() []*Function {
	at := func(name string) []signature {
		return []signature{{
			id: "kanon_cron_" + name, member: true, args: []*cel.Type{cronType, cel.TimestampType}, result: cel.TimestampType,
		}}
	}
	return []*Function{
		{
			name:       "cron",
			declared:   Declaration{cost: costReads, result: large, longest: maxNumber},
			signatures: []signature{{id: "kanon_cron", args: []*cel.Type{cel.StringType, cel.StringType}, result: cronType}},
			call:       newCron,
			cost:       func([]ref.Val, ref.Val) uint64 { return cronUnits },
		},
		{
			name: "next", declared: Declaration{cost: costReads}, signatures: at("next"), call: cronStep("next", "does not come", (*schedule).next),
			cost:  func([]ref.Val, ref.Val) uint64 { return nextUnits },
			times: []int{1}, change: cronChange,
		},
		{
			name: "previous", declared: Declaration{cost: costReads}, signatures: at("previous"), call: cronStep("previous", "did not come", (*schedule).previous),
			cost:  func([]ref.Val, ref.Val) uint64 { return previousUnits },
			times: []int{1}, change: cronChange,
		},
		{
			name: "between", declared: Declaration{cost: costReads, result: large},
			signatures: []signature{{
				id: "kanon_cron_between", member: true,
				args:   []*cel.Type{cronType, cel.TimestampType, cel.TimestampType, cel.IntType},
				result: cel.ListType(cel.TimestampType),
			}},
			call: cronBetween,
			cost: func(_ []ref.Val, result ref.Val) uint64 {
				times, _ := result.(traits.Lister)
				if times == nil {
					return nextUnits
				}
				size, _ := times.Size().(types.Int)
				return nextUnits * (1 + uint64(size))
			},
			times: []int{1, 2}, change: cronChange,
		},
	}
}

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
	expr, ok := args[0].(types.String)
	if !ok {
		return typeError("cron", 1, "a string", args[0])
	}
	zone, ok := args[1].(types.String)
	if !ok {
		return typeError("cron", 2, "a string", args[1])
	}
	s, err := parseCron(string(expr), string(zone))
	if err != nil {
		return types.NewErr("cron: %v", err)
	}
	return s
}

// cronArgs returns the schedule and the timestamps among the arguments, or an error value.
func cronArgs(name string, args []ref.Val, times int) (*schedule, []time.Time, ref.Val) {
	s, ok := args[0].(*schedule)
	if !ok {
		return nil, nil, types.NewErr("%s is for what cron(…) gives, and this is %s", name, TypeText(args[0]))
	}
	var at []time.Time
	for i := range times {
		t, ok := args[1+i].(types.Timestamp)
		if !ok {
			return nil, nil, typeError(name, 1+i, "a timestamp", args[1+i])
		}
		at = append(at, t.UTC())
	}
	return s, at, nil
}

// cronStep returns the function of a schedule and a time that searches another time; never is the end of its error.
func cronStep(name, never string, step func(*schedule, time.Time) time.Time) func([]ref.Val) ref.Val {
	return func(args []ref.Val) ref.Val {
		s, at, err := cronArgs(name, args, 1)
		if err != nil {
			return err
		}
		t := step(s, at[0])
		if t.IsZero() {
			return types.NewErr("%s: %q %s in five years", name, s.expr, never) // without the time, so that the message stays the same
		}
		return types.Timestamp{Time: t}
	}
}

func cronBetween(args []ref.Val) ref.Val {
	s, at, err := cronArgs("between", args, 2)
	if err != nil {
		return err
	}
	most, ok := args[3].(types.Int)
	if !ok {
		return typeError("between", 3, "an int", args[3])
	}
	if most < 0 || most > maxTimes {
		return types.NewErr("between: the most times must be from 0 to %d, and is %d", maxTimes, int64(most))
	}
	times := []ref.Val{}
	for t := s.next(at[0]); len(times) < int(most) && !t.IsZero() && !t.After(at[1]); t = s.next(t) {
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
