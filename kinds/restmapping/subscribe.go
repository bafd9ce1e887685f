package restmapping

import (
	"context"
	"slices"

	"github.com/go-logr/logr"
)

// subscriber is one function to tell.
type subscriber struct {
	tell func(Change)
}

// Subscribe has f called after each refresh that changed something, with
// everything that differs from what was told last; several changes may come as
// one. The first discovery counts: a subscriber of before Run is told every kind
// as Added. Calls come from Run's goroutine, in order, one at a time and outside
// locks; Run notices nothing while f runs. f may call any method of the Mapper.
//
// The returned function ends the subscription; a call that has begun may still be
// running when it returns.
func (m *Mapper) Subscribe(f func(Change)) (cancel func()) {
	s := &subscriber{tell: f}
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

// tell tells every subscriber how the current snapshot differs from told, and
// returns the current one.
func (m *Mapper) tell(ctx context.Context, told *snapshot) *snapshot {
	now := m.current.Load()
	if now == told {
		return told
	}
	logFailed(ctx, told, now)
	change := diff(told, now)
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
			s.tell(change)
		}
	}
	return now
}
