package parents

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"kanon.dev/kanon/engine/conditions"
	"kanon.dev/kanon/engine/feedback"
	"kanon.dev/kanon/engine/identity"
	"kanon.dev/kanon/engine/pacing"
	"kanon.dev/kanon/engine/queue"
)

// Memory is what is remembered of a parent for one revision of a rule. The worker that reconciles the parent is the only one to
// use it, so it has no lock. The zero value remembers nothing.
type Memory struct {
	// revision is the rule's content, and uid the parent, which can be deleted and created again.
	revision string
	uid      types.UID

	Schedule pacing.Schedule
	// StatusLoop and Conflicts are about what the rule writes again and again.
	StatusLoop feedback.StatusLoop
	Conflicts  feedback.Conflicts
	// Events are those of spec.events, and List the conditions in a list that the API server takes for one value.
	Events conditions.Emitted
	List   conditions.List
	// Recreations has the objects that were deleted to be created again, and do not exist yet.
	Recreations map[identity.ID]Recreation
	// Foreign has the versions of objects that have a child's name and are somebody else's.
	Foreign map[identity.ID]string
	// OutOfMemory is true if the evaluation before ended because all evaluations together needed too much memory.
	OutOfMemory bool
}

// Request takes in the annotation that requests a reconcile. A new value ends all pauses: until minInterval is over, and those of
// fields in conflict and of a status that never rests. It reports whether the value is new.
func (m *Memory) Request(value string) bool {
	if !m.Schedule.Request(value) {
		return false
	}
	m.Conflicts.Reset()
	m.StatusLoop = feedback.StatusLoop{}
	return true
}

// Recreation is how often in a row an object was recreated.
type Recreation struct {
	pacing.Backoff
	// Replaced is the object that was deleted, if the new one keeps its generated values; else nil.
	Replaced *unstructured.Unstructured
}

// Release forgets all but the last request for a reconcile, so that it counts once.
func (m *Memory) Release() {
	*m = Memory{revision: m.revision, uid: m.uid, Schedule: pacing.Schedule{Requested: m.Schedule.Requested}}
}

func (m *Memory) isEmpty() bool {
	return m.Schedule == pacing.Schedule{} && m.StatusLoop.IsEmpty() && len(m.Events) == 0 && m.Conflicts.IsEmpty() &&
		m.List.IsEmpty() && len(m.Recreations) == 0 && !m.OutOfMemory && len(m.Foreign) == 0
}

// Memory is what is remembered of a parent for a revision of a rule; empty if that is of another parent or revision.
func (s *Store) Memory(k queue.Key, uid types.UID, revision string) *Memory {
	if kept := s.Get(k).memory; kept != nil && kept.revision == revision && kept.uid == uid {
		return kept
	}
	return &Memory{revision: revision, uid: uid}
}

// Keep remembers what Memory gave, as it is now.
func (s *Store) Keep(k queue.Key, m *Memory) {
	s.Update(k, func(state *State) {
		if state.memory = m; m.isEmpty() {
			state.memory = nil
		}
	})
}

// Release forgets what is remembered of a parent that the rule does not select any more, apart from what has to be cleaned up
// there.
func (s *Store) Release(k queue.Key) {
	s.Update(k, func(state *State) {
		state.Notice, state.Wait, state.memory = conditions.Notice{}, conditions.Wait{}, nil
	})
	s.SetCondition(k, Condition{})
}
