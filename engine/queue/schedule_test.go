package queue

import (
	"testing"
	"time"
)

// A parent waits for what is left of minInterval.
func TestWait(t *testing.T) {
	start := time.Unix(1_800_000_000, 0)
	tests := map[string]struct {
		schedule Schedule
		now      time.Time
		want     time.Duration
	}{
		"nothing is remembered": {now: start},
		"no interval":           {schedule: Schedule{Started: start}, now: start},
		"too early":             {schedule: Schedule{Started: start, Interval: 5 * time.Second}, now: start.Add(time.Second), want: 4 * time.Second},
		"the interval is over":  {schedule: Schedule{Started: start, Interval: time.Second}, now: start.Add(time.Hour)},
		"a clock put back":      {schedule: Schedule{Started: start, Interval: 5 * time.Second}, now: start.Add(-time.Hour), want: 5 * time.Second},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := tc.schedule.Wait(tc.now); got != tc.want {
				t.Errorf("it waits %s, want %s", got, tc.want)
			}
		})
	}
}

// A rule that renders now sees the same time until something is due.
func TestEvaluationTime(t *testing.T) {
	start := time.Unix(1_800_000_000, 0)
	frozen := Schedule{Seen: start, Due: start.Add(time.Hour)}
	tests := map[string]struct {
		schedule Schedule
		now      time.Time
		drifts   bool
		want     time.Time
	}{
		"the first time":          {now: start, drifts: true, want: start},
		"before something is due": {schedule: frozen, now: start.Add(time.Minute), drifts: true, want: start},
		"when it is due":          {schedule: frozen, now: start.Add(time.Hour), drifts: true, want: start.Add(time.Hour)},
		"nothing will be due":     {schedule: Schedule{Seen: start}, now: start.Add(time.Hour), drifts: true, want: start},
		"a clock put back":        {schedule: frozen, now: start.Add(-time.Minute), drifts: true, want: start.Add(-time.Minute)},
		"nothing drifts":          {schedule: frozen, now: start.Add(time.Minute), want: start.Add(time.Minute)},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := tc.schedule.EvaluationTime(tc.now, tc.drifts); !got.Equal(tc.want) {
				t.Errorf("the evaluation sees %s, want %s", got, tc.want)
			}
		})
	}
}

// Of the time of a comparison and requeueAfter the earlier one counts.
func TestDueAt(t *testing.T) {
	seen := time.Unix(1_800_000_000, 0)
	tests := map[string]struct {
		changesAt    time.Time
		requeueAfter time.Duration
		want         time.Time
	}{
		"never":                    {},
		"a comparison":             {changesAt: seen.Add(time.Minute), want: seen.Add(time.Minute)},
		"requeueAfter":             {requeueAfter: time.Hour, want: seen.Add(time.Hour)},
		"the comparison is sooner": {changesAt: seen.Add(time.Minute), requeueAfter: time.Hour, want: seen.Add(time.Minute)},
		"requeueAfter is sooner":   {changesAt: seen.Add(2 * time.Hour), requeueAfter: time.Hour, want: seen.Add(time.Hour)},
		"within the second":        {requeueAfter: time.Millisecond, want: seen.Add(time.Second)},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := DueAt(seen, tc.changesAt, tc.requeueAfter); !got.Equal(tc.want) {
				t.Errorf("due at %s, want %s", got, tc.want)
			}
		})
	}
}

// A new value of the annotation means at once, and one that was there before means nothing.
func TestRequest(t *testing.T) {
	start := time.Unix(1_800_000_000, 0)
	before := Schedule{Started: start, Interval: time.Hour, Seen: start, Due: start.Add(time.Hour), Requested: "a"}
	tests := map[string]struct {
		value string
		want  Schedule
	}{
		"none":            {"", before},
		"the one before":  {"a", before},
		"another one":     {"b", Schedule{Requested: "b"}},
		"a text like any": {"now, please", Schedule{Requested: "now, please"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got := before
			if got.Request(tc.value); got != tc.want {
				t.Errorf("the schedule is %+v, want %+v", got, tc.want)
			}
		})
	}
}
