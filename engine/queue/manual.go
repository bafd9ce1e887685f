package queue

import (
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/client-go/util/workqueue"
)

// Manual is a Queue whose caller decides when time passes and what is retried. It starts no goroutine, and one goroutine
// uses it.
type Manual struct {
	*Queue
	keys *manual
}

// NewManual makes a Manual queue with the clock now.
func NewManual(now func() time.Time) Manual {
	order := newFairQueue(func(rule string) string { return rule }, 1)
	keys := &manual{order: order, now: now, waiting: make(Keys), due: make(map[Key]time.Time), failures: make(map[Key]int)}
	return Manual{Queue: &Queue{TypedRateLimitingInterface: keys, order: order}, keys: keys}
}

// Next returns the next key that is due now; false if there is none. Call Done for it.
func (q Manual) Next() (Key, bool) {
	q.keys.release()
	if q.keys.Len() == 0 {
		return Key{}, false
	}
	k, _ := q.keys.Get()
	return k, true
}

// Due returns when the next key is due; zero if none is.
func (q Manual) Due() (next time.Time) {
	for _, at := range q.keys.due {
		if next.IsZero() || at.Before(next) {
			next = at
		}
	}
	return next
}

// Retry adds the keys whose last reconcile failed, and reports whether there are any.
func (q Manual) Retry() bool {
	failed := sorted(maps.Keys(q.keys.failures))
	for _, k := range failed {
		q.keys.Add(k)
	}
	return len(failed) > 0
}

// manual implements workqueue.TypedRateLimitingInterface.
type manual struct {
	order *fairQueue
	now   func() time.Time
	// waiting are the keys in order. Those added while they are in work are added again by Done.
	waiting      Keys
	current      Key
	working, add bool
	due          map[Key]time.Time
	failures     map[Key]int
}

var _ workqueue.TypedRateLimitingInterface[Key] = (*manual)(nil)

// release adds the keys that are due.
func (m *manual) release() {
	for _, k := range sorted(maps.Keys(m.due)) {
		if !m.due[k].After(m.now()) {
			delete(m.due, k)
			m.Add(k)
		}
	}
}

func (m *manual) Add(k Key) {
	switch {
	case m.working && k == m.current:
		m.add = true
	case m.waiting[k]:
		m.order.Touch(k)
	default:
		m.waiting[k] = true
		m.order.Push(k)
	}
}

func (m *manual) Len() int { return len(m.waiting) }

func (m *manual) Get() (k Key, shutdown bool) {
	k = m.order.Pop()
	delete(m.waiting, k)
	delete(m.due, k) // its reconcile finds out when it is due
	m.current, m.working, m.add = k, true, false
	return k, false
}

func (m *manual) Done(k Key) {
	if m.working = false; m.add {
		m.Add(k)
	}
}

// AddAfter keeps the earliest of several times for a key.
func (m *manual) AddAfter(k Key, after time.Duration) {
	if after <= 0 {
		m.Add(k)
		return
	}
	if at := m.now().Add(after); m.due[k].IsZero() || at.Before(m.due[k]) {
		m.due[k] = at
	}
}

// AddRateLimited has the key wait for Retry.
func (m *manual) AddRateLimited(k Key) { m.failures[k]++ }

func (m *manual) Forget(k Key)          { delete(m.failures, k) }
func (m *manual) NumRequeues(k Key) int { return m.failures[k] }
func (m *manual) ShutDown()             {}
func (m *manual) ShutDownWithDrain()    {}
func (m *manual) ShuttingDown() bool    { return false }

func sorted(keys func(func(Key) bool)) []Key {
	return slices.SortedFunc(keys, func(a, b Key) int { return strings.Compare(a.String()+a.Patch, b.String()+b.Patch) })
}
