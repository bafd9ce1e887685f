package function

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
	"github.com/google/cel-go/interpreter"
	cron "github.com/robfig/cron/v3"

	"kanon.dev/kanon/rules/celenv/value"
)

const (
	// cronUnits is about what it costs to read a schedule and its zone, nextUnits
	// to find its next time, previousUnits to find the one before.
	cronUnits, nextUnits, previousUnits = 100, 20, 200
	// maxTimes is the longest list that between gives.
	maxTimes = 1000
)

//nolint:gochecknoglobals // A type of the language, never changed.
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
			class:      costReads,
			bytes:      atMost(2 * maxNumber),
			longest:    maxNumber,
			signatures: []signature{{id: "kanon_cron", args: []*cel.Type{cel.StringType, cel.StringType}, result: cronType}},
			call:       newCron,
			cost:       func([]ref.Val, ref.Val) uint64 { return cronUnits },
		},
		{
			name: "next", class: costReads, bytes: little(), signatures: at("next"), call: cronNext,
			cost:  func([]ref.Val, ref.Val) uint64 { return nextUnits },
			times: []int{1}, change: cronChange,
		},
		{
			name: "previous", class: costReads, bytes: little(), signatures: at("previous"), call: cronPrevious,
			cost:  func([]ref.Val, ref.Val) uint64 { return previousUnits },
			times: []int{1}, change: cronChange,
		},
		{
			name: "between", class: costReads, bytes: atMost((value.ItemBytes + 2*value.ValueBytes) * maxTimes),
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

// parseCron reads a schedule. There must be a time that it names.
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

// next is the first time after t. The zero time means that there is none in
// five years, which is as far as the library searches.
func (s *schedule) next(t time.Time) time.Time {
	n := s.times.Next(t)
	if n.IsZero() {
		return n
	}
	return n.UTC()
}

// maxLookBack is how far back previous searches: as far as next searches forward.
const maxLookBack = 5 * 366 * 24 * time.Hour

// previous is the last time that is not after t, and zero where there is none
// in five years. The library only searches forward, so the time is searched for:
// first a span before t that has one, then the last one in it, by halves.
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
	// What is left is a second, at whose end there may be a time.
	if n := s.next(last); !n.IsZero() && !n.After(t) {
		return n
	}
	return last
}

// isAfter reports whether no time lies in (from, t].
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

// ConstantCron makes a schedule that is written out once, when the expression
// is compiled, so that a mistake in it is found then; nil for other calls.
func ConstantCron(call interpreter.InterpretableCall) (interpreter.InterpretableV2, error) {
	if call.Function() != "cron" || len(call.Args()) != 2 {
		return nil, nil
	}
	args := make([]ref.Val, 2)
	for i, arg := range call.Args() {
		c, ok := arg.(interpreter.InterpretableConst)
		if !ok {
			return nil, nil
		}
		args[i] = c.Value()
	}
	val := newCron(args)
	if celErr, ok := types.LabelErrNode(call.ID(), val).(*types.Err); ok {
		return nil, celErr
	}
	return interpreter.NewConstValue(call.ID(), val), nil
}

// cronArgs are the schedule and the times after it.
func cronArgs(name string, args []ref.Val, times int) (*schedule, []time.Time, ref.Val) {
	s, ok := args[0].(*schedule)
	if !ok {
		return nil, nil, types.NewErr("%s is for what cron(…) gives, and this is %s", name, value.TypeText(args[0]))
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

func cronNext(args []ref.Val) ref.Val {
	s, at, err := cronArgs("next", args, 1)
	if err != nil {
		return err
	}
	n := s.next(at[0])
	if n.IsZero() {
		return types.NewErr("next: %q does not come in five years", s.expr) // a message that does not change with the time
	}
	return types.Timestamp{Time: n}
}

func cronPrevious(args []ref.Val) ref.Val {
	s, at, err := cronArgs("previous", args, 1)
	if err != nil {
		return err
	}
	p := s.previous(at[0])
	if p.IsZero() {
		return types.NewErr("previous: %q did not come in five years", s.expr)
	}
	return types.Timestamp{Time: p}
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
	return types.NewRefValList(value.Adapter{}, times)
}

// cronChange is when the first of the times that go with the clock comes to a
// time of the schedule, which is when what is asked of the schedule changes.
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
