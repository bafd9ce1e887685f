package engine

import "time"

// firstRetreat is the first pause of what keeps being undone or never comes to
// rest; each further one is twice as long, up to RetryMax.
const firstRetreat = 10 * time.Second

// retreat is a pause that grows each time it turns out to have been in vain. The
// zero value has made none.
type retreat struct {
	pause time.Duration
	until time.Time
}

// deepen begins the next pause.
func (r *retreat) deepen(now time.Time, limit time.Duration) {
	r.pause = min(max(2*r.pause, min(firstRetreat, limit)), limit)
	r.until = now.Add(r.pause)
}

// rest is how much of the pause is left; a clock that was put back makes it no
// longer than the whole.
func (r *retreat) rest(now time.Time) time.Duration { return min(r.until.Sub(now), r.pause) }
