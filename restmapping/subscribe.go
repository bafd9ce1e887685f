package restmapping

import (
	"context"
	"slices"

	"github.com/go-logr/logr"
)

type subscriber struct {
	notify func(Change)
}

// Subscribe calls f after each refresh that changed something, with all differences since the last call; several
// changes may come in one call. The first discovery counts: to a subscriber from before Run, every kind is Added. Calls
// come from Run's goroutine, in order, one at a time and outside locks. Run notices nothing while f runs. f may call
// any method of the Mapper.
//
// The returned function ends the subscription. A call that has begun may still be running when it returns.
func (m *Mapper) Subscribe(f func(Change)) (cancel func()) {
	s := &subscriber{notify: f}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.subscribers = append(m.subscribers, s)
	return func() { m.unsubscribe(s) }
}

func (m *Mapper) unsubscribe(s *subscriber) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.subscribers = slices.DeleteFunc(m.subscribers, func(other *subscriber) bool { return other == s })
}

func (m *Mapper) isSubscribed(s *subscriber) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Contains(m.subscribers, s)
}

// notify notifies every subscriber of the differences between the current snapshot and the one that was last notified
// of. It returns the current one.
func (m *Mapper) notify(ctx context.Context, last *snapshot) *snapshot {
	now := m.current.Load()
	if now == last {
		return last
	}
	logFailed(ctx, last, now)
	change := diff(last, now)
	if change.Empty() {
		return now
	}
	logr.FromContextOrDiscard(ctx).V(4).Info("Kinds have changed",
		"added", len(change.Added), "removed", len(change.Removed), "changed", len(change.Changed))
	m.mu.Lock()
	subscribers := slices.Clone(m.subscribers)
	m.mu.Unlock()
	for _, s := range subscribers {
		if m.isSubscribed(s) {
			s.notify(change)
		}
	}
	return now
}
