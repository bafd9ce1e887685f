package pacing

import (
	"strings"
	"time"
)

// Schedule is when a parent was reconciled, and when it may be, or must be, again.
type Schedule struct {
	// Started is when the last reconcile began, and Interval the least time from there to the next; zero: none.
	Started  time.Time
	Interval time.Duration
	// Seen is the now that the last evaluation saw, and Due when something that it computed from now changes; zero: never.
	Seen, Due time.Time
	// Requested is what the last reconcile found in the annotation that requests one.
	Requested string
}

// Request takes in the annotation that requests a reconcile: a new value of it means at once, and with the time as it is now. It
// reports whether the value is new.
func (s *Schedule) Request(value string) bool {
	if value == "" || value == s.Requested {
		return false
	}
	*s = Schedule{Requested: strings.Clone(value)} // the text outlives the parent as it is now
	return true
}

// Wait is how long the parent has to wait before it may be reconciled.
func (s Schedule) Wait(now time.Time) time.Duration {
	return max(0, min(s.Started.Add(s.Interval).Sub(now), s.Interval))
}

// IsDue tells whether the time has come at which the rule computes something else from now.
func (s Schedule) IsDue(now time.Time) bool { return !s.Due.IsZero() && !now.Before(s.Due) }

// EvaluationTime is the now that an evaluation sees. A rule that drifts, because it renders now, sees the same one until
// something is due: what changes for no other reason than the passing of time must not be written in between.
func (s Schedule) EvaluationTime(now time.Time, drifts bool) time.Time {
	if !drifts || s.Seen.IsZero() || now.Before(s.Seen) || s.IsDue(now) {
		return now
	}
	return s.Seen
}

// DueAt is when a parent must be reconciled again because of time alone; zero: never. The evaluation saw seen as its now,
// found that a comparison with it changes at changesAt (zero: none does), and asked for a reconcile after requeueAfter (zero:
// it did not).
func DueAt(seen, changesAt time.Time, requeueAfter time.Duration) time.Time {
	if requeueAfter <= 0 {
		return changesAt
	}
	// now is whole seconds: a reconcile within the same one would find nothing new.
	again := seen.Add(max(requeueAfter, time.Second))
	if changesAt.IsZero() || again.Before(changesAt) {
		return again
	}
	return changesAt
}
