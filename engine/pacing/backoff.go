package pacing

import "time"

// Limits bound a pause that doubles each time: the first one is First, and none is longer than Max.
type Limits struct{ First, Max time.Duration }

// After is the pause after so many attempts in a row; none after none.
func (l Limits) After(attempts int) time.Duration {
	if attempts <= 0 {
		return 0
	}
	pause := l.First
	for i := 1; i < attempts && pause < l.Max; i++ {
		pause *= 2
	}
	return min(pause, l.Max)
}

// Backoff counts attempts in a row that were in vain, and is the pause after the last of them.
type Backoff struct {
	Attempts int
	// Last is when the last attempt was, and Pause how long the next one has to wait from there.
	Last  time.Time
	Pause time.Duration
}

// NewBackoff is the pause after a number of attempts of which the last was at that time.
func NewBackoff(attempts int, last time.Time, limits Limits) Backoff {
	return Backoff{Attempts: attempts, Last: last, Pause: limits.After(attempts)}
}

// Next counts one more attempt, and begins the pause after it.
func (b *Backoff) Next(now time.Time, limits Limits) { *b = NewBackoff(b.Attempts+1, now, limits) }

// Remaining is how much of the pause is left.
func (b Backoff) Remaining(now time.Time) time.Duration {
	return max(0, min(b.Last.Add(b.Pause).Sub(now), b.Pause))
}

// Retries is how long something pauses that is tried again as long as it fails.
type Retries struct {
	Limits

	failures int
}

// Next is the pause after an attempt; none after one that succeeded.
func (r *Retries) Next(succeeded bool) time.Duration {
	if r.failures++; succeeded {
		r.failures = 0
	}
	return r.After(r.failures)
}
