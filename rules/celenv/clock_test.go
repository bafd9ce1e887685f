package celenv

import (
	"cmp"
	"fmt"
	"testing"
	"time"

	"github.com/google/cel-go/common/operators"
)

// What untilChange says is what trying second after second finds.
func TestUntilOther(t *testing.T) {
	t.Parallel()
	ops := []string{
		operators.Less, operators.LessEquals, operators.Greater, operators.GreaterEquals, operators.Equals, operators.NotEquals,
	}
	differences := []time.Duration{
		0, time.Nanosecond, -time.Nanosecond, time.Second, -time.Second, 3 * time.Second, -3 * time.Second,
		1500 * time.Millisecond, -1500 * time.Millisecond, 10*time.Second + 1, -10*time.Second - 1,
	}
	for _, op := range ops {
		for _, d := range differences {
			for _, speed := range []int{-2, -1, 0, 1, 2} {
				t.Run(fmt.Sprint(op, d, speed), func(t *testing.T) {
					t.Parallel()
					want, wants := Wait(0), false
					for s := 1; s <= 20 && !wants; s++ {
						then := d + time.Duration(s*speed)*time.Second
						if holds(op, cmp.Compare(then, 0)) != holds(op, cmp.Compare(d, 0)) {
							want, wants = Wait(s)*Wait(time.Second), true
						}
					}
					got, ok := untilChange(op, d, speed)
					if ok != wants || got != want {
						t.Errorf("got %v %v, want %v %v", time.Duration(got), ok, time.Duration(want), wants)
					}
				})
			}
		}
	}
}

func TestClockIsInWholeSeconds(t *testing.T) {
	t.Parallel()
	zone := time.FixedZone("", 7200)
	c := NewClock(time.Date(2026, 1, 2, 3, 4, 5, 999, zone))
	got, err := run(t, "now", Options{}, map[string]any{NowName: c.Now()})
	if err != nil || got != "2026-01-02T01:04:05Z" {
		t.Errorf("now is %v, %v", got, err)
	}
}
