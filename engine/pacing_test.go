package engine

import (
	"testing"
	"time"
)

func TestRest(t *testing.T) {
	start := time.Unix(1_800_000_000, 0)
	tests := map[string]struct {
		pace pace
		now  time.Time
		want time.Duration
	}{
		"nothing is remembered": {now: start},
		"no interval":           {pace: pace{started: start}, now: start},
		"too early":             {pace: pace{started: start, interval: 5 * time.Second}, now: start.Add(time.Second), want: 4 * time.Second},
		"a clock put back":      {pace: pace{started: start, interval: 5 * time.Second}, now: start.Add(-time.Hour), want: 5 * time.Second},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := tc.pace.rest(tc.now); got != tc.want {
				t.Errorf("rest is %s, want %s", got, tc.want)
			}
		})
	}
	if late := (pace{started: start, interval: time.Second}).rest(start.Add(time.Second)); late > 0 {
		t.Errorf("after the interval there is %s left", late)
	}
}

func TestEvaluationTime(t *testing.T) {
	start := time.Unix(1_800_000_000, 0)
	frozen := pace{seen: start, due: start.Add(time.Hour)}
	tests := map[string]struct {
		pace   pace
		now    time.Time
		drifts bool
		want   time.Time
	}{
		"the first time":          {now: start, drifts: true, want: start},
		"before something is due": {pace: frozen, now: start.Add(time.Minute), drifts: true, want: start},
		"when it is due":          {pace: frozen, now: start.Add(time.Hour), drifts: true, want: start.Add(time.Hour)},
		"nothing will be due":     {pace: pace{seen: start}, now: start.Add(time.Hour), drifts: true, want: start},
		"a clock put back":        {pace: frozen, now: start.Add(-time.Minute), drifts: true, want: start.Add(-time.Minute)},
		"nothing drifts":          {pace: frozen, now: start.Add(time.Minute), want: start.Add(time.Minute)},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := tc.pace.evaluationTime(tc.now, tc.drifts); !got.Equal(tc.want) {
				t.Errorf("the evaluation sees %s, want %s", got, tc.want)
			}
		})
	}
}

func TestDueAt(t *testing.T) {
	seen := time.Unix(1_800_000_000, 0)
	tests := map[string]struct {
		wakeAt       time.Time
		requeueAfter time.Duration
		want         time.Time
	}{
		"never":                    {},
		"a comparison":             {wakeAt: seen.Add(time.Minute), want: seen.Add(time.Minute)},
		"requeueAfter":             {requeueAfter: time.Hour, want: seen.Add(time.Hour)},
		"the comparison is sooner": {wakeAt: seen.Add(time.Minute), requeueAfter: time.Hour, want: seen.Add(time.Minute)},
		"requeueAfter is sooner":   {wakeAt: seen.Add(2 * time.Hour), requeueAfter: time.Hour, want: seen.Add(time.Hour)},
		"within the second":        {requeueAfter: time.Millisecond, want: seen.Add(time.Second)},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := dueAt(seen, tc.wakeAt, tc.requeueAfter); !got.Equal(tc.want) {
				t.Errorf("due at %s, want %s", got, tc.want)
			}
		})
	}
}
