package restmapping

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestAgenda(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var a agenda
		defer a.cancel()
		// fires waits for the refresh and checks that it is due after delay.
		fires := func(what string, delay time.Duration) {
			t.Helper()
			began := time.Now()
			<-a.due()
			if took := time.Since(began); took != delay {
				t.Errorf("%s: due after %s, want %s", what, took, delay)
			}
		}

		if a.due() != nil {
			t.Error("due without a plan")
		}
		a.event()
		a.event()
		fires("two events", settleTime)
		if tries := a.begin(); tries != 0 || a.due() != nil {
			t.Errorf("the first refresh is number %d, and another is planned: %t", tries, a.due() != nil)
		}
		a.event()
		fires("an event after a refresh", refreshGap)
		a.begin()

		a.plan(pauseBefore(0), true)
		fires("the first retry", retryFirst)
		if tries := a.begin(); tries != 1 {
			t.Errorf("the first retry is number %d, want 1", tries)
		}
		a.plan(pauseBefore(9), true)
		a.event()
		fires("an event before a late retry", refreshGap)
		if tries := a.begin(); tries != 0 {
			t.Errorf("the refresh after an event is number %d, want 0", tries)
		}
		a.plan(pauseBefore(99), true)
		fires("the last retry", retryMax)
		a.begin()
		a.plan(0, false)
		if a.due() != nil {
			t.Error("due although nothing is to be done again")
		}
	})
}
