package restmapping

import "time"

// agenda says when the next refresh is due. The zero value has none.
type agenda struct {
	timer *time.Timer
	at    time.Time // when the timer fires; zero without a plan
	tries int       // refreshes since the last event
	began time.Time // of the newest refresh
}

// due returns a channel that yields when the refresh is due; nil, which never
// yields, without a plan.
func (a *agenda) due() <-chan time.Time {
	if a.at.IsZero() {
		return nil
	}
	return a.timer.C
}

// event plans a refresh soon: after settleTime, and refreshGap after the last.
func (a *agenda) event() {
	a.tries = 0
	delay := max(settleTime, refreshGap-time.Since(a.began))
	if a.at.IsZero() || time.Now().Add(delay).Before(a.at) {
		a.set(delay)
	}
}

// begin notes that the refresh begins and returns how many came before it since
// the last event.
func (a *agenda) begin() int {
	a.at, a.began = time.Time{}, time.Now()
	tries := a.tries
	a.tries++
	return tries
}

// plan plans a refresh after delay if again is set.
func (a *agenda) plan(delay time.Duration, again bool) {
	if again {
		a.set(delay)
	}
}

func (a *agenda) set(delay time.Duration) {
	if a.timer == nil {
		a.timer = time.NewTimer(delay)
	} else {
		a.timer.Reset(delay)
	}
	a.at = time.Now().Add(delay)
}

func (a *agenda) cancel() {
	if a.timer != nil {
		a.timer.Stop()
	}
}
