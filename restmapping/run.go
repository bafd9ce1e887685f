package restmapping

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
)

const (
	// settleTime is how long a refresh waits for further events after the first one. Creating a
	// CustomResourceDefinition causes three or four within milliseconds.
	settleTime = 25 * time.Millisecond

	// refreshGap is the shortest time between two refreshes that events cause, so that a hundred definitions, installed
	// one by one, cost a few discoveries a second. Together with settleTime and a discovery, it is well under the
	// second within which changes are noticed.
	refreshGap = 250 * time.Millisecond

	// retryFirst and retryMax bound the pauses, each twice the one before, between retries of a refresh that failed or
	// does not yet show what the definitions promise.
	retryFirst = 50 * time.Millisecond
	retryMax   = 5 * time.Second

	// maxRetries limits the wait for discovery to show what the definitions promise to about half a minute. Some
	// definitions are never served, such as one whose group another API server has taken over.
	maxRetries = 12
)

// Run discovers the kinds of the API server, watches the definitions of further kinds (CustomResourceDefinitions and
// APIServices), refreshes when they change, and notifies subscribers. While nothing changes, it sends no requests but
// the watches. It blocks until ctx ends, and waits for everything that it started. The error reports that a watch could
// not be set up. Run may be called once.
func (m *Mapper) Run(ctx context.Context) error {
	var running sync.WaitGroup
	defer running.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // before running.Wait, also on an error

	if !m.discoverFirst(ctx) {
		return nil
	}
	watched := newDefinitions(m.dynamic, m.current.Load())
	if err := watched.start(ctx, &running, m.hasVersion); err != nil {
		return err
	}
	if !watched.wait(ctx) || !m.adopt(ctx, watched) {
		return nil
	}

	var last *snapshot
	var next agenda
	defer next.cancel()
	next.plan(m.afterRefresh(ctx, watched, 0))
	last = m.notify(ctx, last)
	close(m.synced)
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-m.published:
		case <-watched.changed:
			next.event()
		case <-next.due():
			tries := next.begin()
			if err := m.refresh(ctx); err != nil {
				next.plan(m.afterFailure(ctx, err, tries))
			} else {
				next.plan(m.afterRefresh(ctx, watched, tries))
			}
		}
		last = m.notify(ctx, last)
	}
}

func (m *Mapper) discoverFirst(ctx context.Context) bool {
	for tries := 0; ; tries++ {
		err := m.refresh(ctx)
		if err == nil {
			return true
		}
		pause, _ := m.afterFailure(ctx, err, tries)
		select {
		case <-ctx.Done():
			return false
		case <-time.After(pause):
		}
	}
}

// adopt enters the definitions into the snapshot and into every later one. It returns false if ctx ends.
func (m *Mapper) adopt(ctx context.Context, watched *definitions) bool {
	if err := m.acquire(ctx); err != nil {
		return false
	}
	defer m.release()
	m.definitions = watched
	m.publish(m.current.Load().identify(watched.all()))
	return true
}

func (m *Mapper) hasVersion(gv schema.GroupVersion) bool {
	s := m.current.Load()
	return s != nil && s.versions.Has(gv)
}

// afterFailure schedules the retry of a refresh that failed as a whole. There always is one.
func (m *Mapper) afterFailure(ctx context.Context, err error, tries int) (time.Duration, bool) {
	if ctx.Err() == nil && tries == 0 {
		logr.FromContextOrDiscard(ctx).Error(err, "Cannot discover kinds; retrying and keeping what is known")
	}
	return pauseBefore(tries), true
}

// afterRefresh decides whether and when to repeat a refresh.
func (m *Mapper) afterRefresh(ctx context.Context, watched *definitions, tries int) (time.Duration, bool) {
	missing := watched.unsettled(m.current.Load())
	if len(missing) == 0 {
		return 0, false
	}
	log := logr.FromContextOrDiscard(ctx)
	if tries >= maxRetries {
		log.Info("Discovery does not show what the definitions say; waiting for the next change", "differing", missing)
		return 0, false
	}
	log.V(4).Info("Discovery does not show what the definitions say yet", "differing", missing, "try", tries)
	return pauseBefore(tries), true
}

func pauseBefore(retry int) time.Duration {
	if retry > 10 { // retryFirst << 7 is more than retryMax
		return retryMax
	}
	return min(retryFirst<<retry, retryMax)
}

func logFailed(ctx context.Context, before, now *snapshot) {
	old := sets.New[schema.GroupVersion]()
	if before != nil {
		old = sets.KeySet(before.failed)
	}
	failed := sets.KeySet(now.failed)
	if failed.Equal(old) {
		return
	}
	groups := make([]string, 0, len(failed))
	for gv := range failed {
		groups = append(groups, gv.String())
	}
	slices.Sort(groups)
	logr.FromContextOrDiscard(ctx).Info("The groups that cannot be discovered have changed; what was known of them is kept", "failing", groups)
}

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
