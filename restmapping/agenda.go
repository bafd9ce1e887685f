package restmapping

import "time"

// agenda schedules the next refresh. The zero value has none scheduled.
type agenda struct {
	timer *time.Timer
	at    time.Time // when the timer fires; zero if nothing is scheduled
	tries int       // refreshes since the last event
	began time.Time // of the newest refresh
}

// due returns a channel that yields when the refresh is due; nil, which never yields, if none is scheduled.
func (a *agenda) due() <-chan time.Time {
	if a.at.IsZero() {
		return nil
	}
	return a.timer.C
}

// event schedules a refresh: after settleTime, but not before refreshGap after the last one began.
func (a *agenda) event() {
	a.tries = 0
	delay := max(settleTime, refreshGap-time.Since(a.began))
	if a.at.IsZero() || time.Now().Add(delay).Before(a.at) {
		a.set(delay)
	}
}

// begin records that the refresh begins. It returns the number of refreshes since the last event.
func (a *agenda) begin() int {
	a.at, a.began = time.Time{}, time.Now()
	tries := a.tries
	a.tries++
	return tries
}

// plan schedules a refresh after delay if again is true.
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
