package engine

import (
	"maps"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"kanon.dev/kanon/engine/queue"
)

// memory is what the engine remembers of one parent for one rule between two
// reconciles, besides what is in the cluster. Losing it costs an evaluation, and
// with a rule that renders now a write. The worker that has the key has the
// memory too, so it needs no lock.
type memory struct {
	// revision is the rule's content that it belongs to, and uid the parent: one
	// that was deleted and made again is another.
	revision string
	uid      types.UID
	pace     pace
	unrest   unrest
	events   []announced
	contests contests
	placing  placing
	// recreations has the objects that were deleted to be made anew and are not yet.
	recreations map[identity]recreation
}

func (m *memory) empty() bool {
	return m.pace == pace{} && m.unrest.empty() && len(m.events) == 0 && m.contests.empty() &&
		m.placing.foreign == nil && len(m.recreations) == 0
}

// memories holds the memory of each parent that has one.
type memories struct {
	mu sync.Mutex
	// byKey never has an empty one. Guarded by mu.
	byKey map[queue.Key]*memory
}

func newMemories() *memories { return &memories{byKey: make(map[queue.Key]*memory)} }

// of is what is remembered of a parent for a revision of a rule.
func (m *memories) of(k queue.Key, uid types.UID, revision string) *memory {
	m.mu.Lock()
	defer m.mu.Unlock()
	if kept := m.byKey[k]; kept != nil && kept.revision == revision && kept.uid == uid {
		return kept
	}
	return &memory{revision: revision, uid: uid}
}

// keep remembers.
func (m *memories) keep(k queue.Key, kept *memory) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if kept.empty() {
		delete(m.byKey, k)
		return
	}
	m.byKey[k] = kept
}

func (m *memories) forget(k queue.Key) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.byKey, k)
}

func (m *memories) forgetRule(id string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	maps.DeleteFunc(m.byKey, func(k queue.Key, _ *memory) bool { return k.Rule == id })
}

func (m *memories) addKeys(rule string, found queue.Keys) {
	m.mu.Lock()
	defer m.mu.Unlock()
	queue.AddOf(m.byKey, rule, found)
}

// forget drops all that is known of a parent that is gone, or that the rule is
// not for any more.
func (e *Engine) forget(k queue.Key) {
	e.dropContributions(k)
	e.notices.forget(k)
	e.memories.forget(k)
	e.causes.forget(k)
	e.readers.Keep(k, nil)
	e.borrowed.Keep(k, nil)
	e.held.set(k, false)
	e.left.set(k, false)
}

// remembered lists the parents of a rule of which something is known.
func (e *Engine) remembered(rule string) []queue.Key {
	found := make(queue.Keys)
	e.notices.addKeys(rule, found)
	e.memories.addKeys(rule, found)
	e.causes.addKeys(rule, found)
	e.readers.AddKeys(rule, found)
	e.borrowed.AddKeys(rule, found)
	e.held.addKeys(rule, found)
	e.left.addKeys(rule, found)
	e.contributions.AddKeys(rule, found)
	return slices.Collect(maps.Keys(found))
}

// stop ends what a rule has running, and drops what is known of its parents and
// children: no event will tell of their end.
func (e *Engine) stop(op *operator) {
	for kind := range op.childKinds() {
		for _, child := range e.monitors.Unread(op.childKey(kind.GVR)) {
			if k, ok := keyOfTag(child); ok && k.Rule == op.id {
				e.writer.Forget(child.UID())
			}
		}
	}
	e.monitors.Watch(op.id)
	e.notices.forgetRule(op.id)
	e.memories.forgetRule(op.id)
	e.causes.forgetRule(op.id)
	e.readers.ForgetRule(op.id)
	e.borrowed.ForgetRule(op.id)
	e.held.forgetRule(op.id)
	e.left.forgetRule(op.id)
	e.guards.forgetRule(op.id)
	e.contributions.ForgetRule(op.id)
}
