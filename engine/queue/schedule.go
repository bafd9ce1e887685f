package queue

import (
	"strings"
	"time"
)

// Schedule is when a parent was reconciled, and when it may or must be reconciled again.
type Schedule struct {
	// Started is when the last reconcile began. Interval is the minimum from then to the next one; zero means none.
	Started  time.Time
	Interval time.Duration
	// Seen is the time that the last evaluation saw as now. Due is when something computed from it changes; zero means
	// never.
	Seen, Due time.Time
	// Requested is the value of the annotation that requests a reconcile, as of the last reconcile.
	Requested string
}

// Request processes the annotation that requests a reconcile. A new value means a reconcile at once, with the current
// time. It reports whether the value is new.
func (s *Schedule) Request(value string) bool {
	if value == "" || value == s.Requested {
		return false
	}
	*s = Schedule{Requested: strings.Clone(value)} // the text outlives this version of the parent
	return true
}

// Wait returns how long the parent has to wait before it may be reconciled.
func (s Schedule) Wait(now time.Time) time.Duration {
	return max(0, min(s.Started.Add(s.Interval).Sub(now), s.Interval))
}

// IsDue reports whether the time has come at which the rule computes something else from now.
func (s Schedule) IsDue(now time.Time) bool { return !s.Due.IsZero() && !now.Before(s.Due) }

// EvaluationTime returns what an evaluation sees as now. A rule that drifts, because it renders now, sees the same time
// until something is due: a change that is only due to the passing of time must not be written in between.
func (s Schedule) EvaluationTime(now time.Time, drifts bool) time.Time {
	if !drifts || s.Seen.IsZero() || now.Before(s.Seen) || s.IsDue(now) {
		return now
	}
	return s.Seen
}

// DueAt returns when a parent must be reconciled again because of time alone; zero means never. The evaluation saw seen
// as now. changesAt is when a comparison with now changes (zero: never), and requeueAfter is what the rule asked for
// (zero: nothing).
func DueAt(seen, changesAt time.Time, requeueAfter time.Duration) time.Time {
	if requeueAfter <= 0 {
		return changesAt
	}
	// now has whole seconds: a reconcile within the same second would find nothing new.
	again := seen.Add(max(requeueAfter, time.Second))
	if changesAt.IsZero() || again.Before(changesAt) {
		return again
	}
	return changesAt
}
