package rules_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"kanon.dev/kanon/rules/diagnostic"
)

// times writes random expressions of times, within minutes of timeBase.
type times struct{ *rand.Rand }

func timeBase() time.Time { return time.Date(2026, 3, 5, 6, 10, 0, 0, time.UTC) }

func (r times) pick(of ...func() string) string { return of[r.IntN(len(of))]() }

func (r times) time(depth int) string {
	if depth <= 0 {
		return r.pick(
			func() string { return "now" },
			func() string { return "variables.t" },
			func() string {
				return fmt.Sprintf("timestamp(%q)", timeBase().Add(time.Duration(r.IntN(240_000)-60_000)*time.Millisecond).Format(time.RFC3339Nano))
			},
		)
	}
	t := func() string { return r.time(depth - 1 - r.IntN(2)) }
	return r.pick(
		t,
		func() string { return fmt.Sprintf("(%s + %s)", t(), r.span(depth-1)) },
		func() string { return fmt.Sprintf("(%s - %s)", t(), r.span(depth-1)) },
		func() string { return fmt.Sprintf("truncate(%s, duration(\"%ds\"))", t(), 1+r.IntN(90)) },
		func() string { return fmt.Sprintf("cron(\"*/%d * * * *\", \"UTC\").next(%s)", 1+r.IntN(5), t()) },
		func() string { return fmt.Sprintf("cron(\"*/%d * * * *\", \"UTC\").previous(%s)", 1+r.IntN(5), t()) },
		func() string { return fmt.Sprintf("(%s ? %s : %s)", r.bool(depth-1), t(), t()) },
		func() string { return fmt.Sprintf("cel.bind(b, %s, b + %s)", t(), r.span(depth-2)) },
		func() string { return fmt.Sprintf(`{"a": %s, "b": 1}.a`, t()) },
	)
}

func (r times) span(depth int) string {
	if depth <= 0 {
		return fmt.Sprintf("duration(\"%dms\")", r.IntN(120_000)-30_000)
	}
	return r.pick(
		func() string { return r.span(depth - 1) },
		func() string { return fmt.Sprintf("(%s - %s)", r.time(depth-1), r.time(depth-1)) },
		func() string { return fmt.Sprintf("(%s + %s)", r.span(depth-1), r.span(depth-1)) },
		func() string { return fmt.Sprintf("(%s - %s)", r.span(depth-1), r.span(depth-1)) },
	)
}

func (r times) bool(depth int) string {
	op := func() string { return []string{"<", "<=", ">", ">=", "==", "!="}[r.IntN(6)] }
	if depth <= 0 {
		return r.pick(
			func() string { return fmt.Sprintf("%s %s %s", r.time(0), op(), r.time(0)) },
			func() string { return "variables.b" },
		)
	}
	b := func() string { return r.bool(depth - 1 - r.IntN(2)) }
	return r.pick(
		b,
		func() string { return fmt.Sprintf("(%s %s %s)", r.time(depth-1), op(), r.time(depth-1)) },
		func() string { return fmt.Sprintf("(%s %s %s)", r.span(depth-1), op(), r.span(depth-1)) },
		func() string { return fmt.Sprintf("(%s && %s)", b(), b()) },
		func() string { return fmt.Sprintf("(%s || !(%s))", b(), b()) },
		func() string { return fmt.Sprintf("(%s ? %s : %s)", b(), b(), b()) },
		func() string {
			return fmt.Sprintf("[1, 30, 60].exists(i, %s > duration(string(i) + \"s\"))", r.span(depth-1))
		},
		func() string { return fmt.Sprintf("(%s in [%s])", r.time(depth-1), r.time(depth-1)) },
		func() string { return fmt.Sprintf("(%s.getSeconds() < 30)", r.time(depth-1)) },
	)
}

// Whatever an expression computes from now, it is refused, or it stays the same
// up to the second before the one at which it says that it changes.
func TestValuesStayUntilTheyWake(t *testing.T) {
	t.Parallel()
	refused, steady, waking := 0, 0, 0
	for seed := range uint64(160) {
		r := times{rand.New(rand.NewPCG(seed, 1))} //nolint:gosec // Not a secret.
		depth := 1 + r.IntN(4)
		expr := "${" + r.pick(
			func() string { return r.bool(depth) },
			func() string { return r.time(depth) },
			func() string { return r.span(depth) },
			func() string {
				return fmt.Sprintf("cron(\"* * * * *\", \"UTC\").between(%s, %s, 5)", r.time(depth), r.time(depth))
			},
		) + "}"
		program, findings := timeRule(t, map[string]string{"t": `${now + duration("7s")}`, "b": `${now > timestamp("2026-03-05T06:11:00.5Z")}`}, expr)
		if program == nil {
			if len(findings) != 1 || findings[0].Code != diagnostic.CodeMovingTime {
				t.Errorf("%s: %v", expr, findings)
			}
			refused++
			continue
		}
		first, wake := valueAt(t, program, timeBase())
		last := timeBase().Add(5 * time.Minute)
		if !wake.IsZero() {
			waking++
			if !wake.After(last) {
				last = wake.Add(-time.Second)
			}
		} else {
			steady++
		}
		for at := timeBase(); !at.After(last); at = at.Add(time.Second) {
			if got, _ := valueAt(t, program, at); !cmp.Equal(first, got) {
				t.Errorf("%s is %v at %v, and %v at %v, with the change at %v", expr, first, timeBase(), got, at, wake)
				break
			}
		}
	}
	t.Logf("%d refused, %d steady, %d that wake", refused, steady, waking)
	if min(refused, steady, waking) < 10 {
		t.Errorf("%d refused, %d steady, %d that wake: the expressions are too much alike", refused, steady, waking)
	}
}
