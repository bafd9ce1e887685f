package conditions

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"kanon.dev/kanon/engine/feedback"
	"kanon.dev/kanon/engine/identity"
	"kanon.dev/kanon/engine/queue"
)

// Memory is what is remembered of a parent for one revision of a rule. Only the worker that reconciles the parent uses
// it, so it has no lock. The zero value remembers nothing.
type Memory struct {
	// revision is the hash of the rule's content, and uid is the parent's, which may be recreated.
	revision string
	uid      types.UID

	Schedule queue.Schedule
	// Conflicts are about writes that others revert.
	Conflicts feedback.Conflicts
	// Events has what is known of spec.events, and List of the conditions in a list that the API server treats as one
	// value.
	Events Emitted
	List   List
	// Recreations has the objects that were deleted to be recreated and do not exist yet.
	Recreations map[identity.ID]Recreation
	// Foreign has the versions of objects that have a child's name and belong to somebody else.
	Foreign map[identity.ID]string
	// OutOfMemory is true if the last evaluation ended because all evaluations together needed too much memory.
	OutOfMemory bool
}

// Request processes the annotation that requests a reconcile. A new value ends the pauses of minInterval and of fields in
// conflict. It reports whether the value is new.
func (m *Memory) Request(value string) bool {
	if !m.Schedule.Request(value) {
		return false
	}
	m.Conflicts.Reset()
	return true
}

// Recreation says how often in a row an object was recreated.
type Recreation struct {
	queue.Backoff
	// Replaced is the deleted object, if the new one keeps its generated values; else nil.
	Replaced *unstructured.Unstructured
}

// Release forgets everything but the last request for a reconcile, so that the request counts only once.
func (m *Memory) Release() {
	*m = Memory{revision: m.revision, uid: m.uid, Schedule: queue.Schedule{Requested: m.Schedule.Requested}}
}

func (m *Memory) isEmpty() bool {
	return m.Schedule == queue.Schedule{} && len(m.Events) == 0 && m.Conflicts.IsEmpty() &&
		m.List.IsEmpty() && len(m.Recreations) == 0 && !m.OutOfMemory && len(m.Foreign) == 0
}

// Memory returns what is remembered of a parent for a revision of a rule; empty if that was for another parent or
// revision.
func (s *Store) Memory(k queue.Key, uid types.UID, revision string) *Memory {
	if kept := s.Get(k).memory; kept != nil && kept.revision == revision && kept.uid == uid {
		return kept
	}
	return &Memory{revision: revision, uid: uid}
}

// Keep stores a Memory that Store.Memory returned.
func (s *Store) Keep(k queue.Key, m *Memory) {
	s.Update(k, func(state *State) {
		if state.memory = m; m.isEmpty() {
			state.memory = nil
		}
	})
}

// Release forgets what is remembered of a parent that the rule no longer selects, except what is needed to clean up.
func (s *Store) Release(k queue.Key) {
	s.Update(k, func(state *State) {
		state.Notice, state.Wait, state.Reported, state.memory = Notice{}, Wait{}, StatusWrite{}, nil
	})
	s.SetCondition(k, Condition{})
}
