package queue

import "time"

// Limits bound a pause that doubles each time: it starts with First and never exceeds Max.
type Limits struct{ First, Max time.Duration }

// After returns the pause after a number of attempts in a row; zero after none.
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

// Backoff counts failed attempts in a row, and has the pause after the last of them.
type Backoff struct {
	Attempts int
	// Last is when the last attempt was, and Pause how long the next one waits from then on.
	Last  time.Time
	Pause time.Duration
}

// NewBackoff returns the Backoff after a number of attempts, the last of them at the given time.
func NewBackoff(attempts int, last time.Time, limits Limits) Backoff {
	return Backoff{Attempts: attempts, Last: last, Pause: limits.After(attempts)}
}

// Next counts one more attempt, and starts the pause after it.
func (b *Backoff) Next(now time.Time, limits Limits) { *b = NewBackoff(b.Attempts+1, now, limits) }

// Remaining returns the rest of the pause.
func (b Backoff) Remaining(now time.Time) time.Duration {
	return max(0, min(b.Last.Add(b.Pause).Sub(now), b.Pause))
}

// Retries is the pause of something that is retried as long as it fails.
type Retries struct {
	Limits

	failures int
}

// Next returns the pause after an attempt; zero if it succeeded.
func (r *Retries) Next(succeeded bool) time.Duration {
	if r.failures++; succeeded {
		r.failures = 0
	}
	return r.After(r.failures)
}
