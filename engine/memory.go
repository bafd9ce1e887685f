package engine

import (
	"maps"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"kanon.dev/kanon/engine/conditions"
	"kanon.dev/kanon/engine/feedback"
	"kanon.dev/kanon/engine/identity"
	"kanon.dev/kanon/engine/pacing"
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
	schedule pacing.Schedule
	// statusLoop and conflicts are about what the rule writes again and again.
	statusLoop feedback.StatusLoop
	conflicts  feedback.Conflicts
	events     conditions.Emitted
	list       conditions.List
	// recreations has the objects that were deleted to be made anew and are not yet.
	recreations map[identity.ID]pacing.Backoff
	// foreign has the versions of objects that have a child's name and are somebody else's.
	foreign map[identity.ID]string
	// starved is true where the evaluation before ended for want of memory that all
	// evaluations share.
	starved bool
}

func (m *memory) empty() bool {
	return m.schedule == pacing.Schedule{} && m.statusLoop.IsEmpty() && len(m.events) == 0 && m.conflicts.IsEmpty() &&
		m.list.IsEmpty() && len(m.recreations) == 0 && !m.starved && len(m.foreign) == 0
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

func (m *memories) Forget(k queue.Key) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.byKey, k)
}

func (m *memories) ForgetRule(id string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	maps.DeleteFunc(m.byKey, func(k queue.Key, _ *memory) bool { return k.Rule == id })
}

func (m *memories) AddKeys(rule string, found queue.Keys) {
	m.mu.Lock()
	defer m.mu.Unlock()
	queue.AddOf(m.byKey, rule, found)
}
