package conditions

import (
	"maps"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kanon.dev/kanon/engine/feedback"
	"kanon.dev/kanon/engine/queue"
)

// State is what is remembered of one parent for one rule, or of one target of a patch. The zero value remembers
// nothing.
type State struct {
	// Chain is what caused the last reconciles; nil if unknown.
	Chain *feedback.Chain
	// Conflicts are the conflicts over the fields that a patch sets in the target; nil if there are none.
	Conflicts *feedback.Conflicts
	// HasFinalizer is true if the parent has the rule's finalizer.
	HasFinalizer bool
	// Unselected is true if the parent no longer matched the rule's selector but still had fields of the rule: it must be
	// reconciled even if it has no children. It stays true until such a reconcile, also if the parent matches again.
	Unselected bool
	// Deletion is how the parent is being deleted, unless in the background. The finalizer that shows it is removed as
	// soon as the garbage collector has done its part, possibly before the rule's own.
	Deletion Deletion
	// Reported is the last write of the parent's status that changed nothing else.
	Reported StatusWrite
	// Retries counts the reconciles in a row that were repeated because an object changed during them.
	Retries int
	// Notice is the last Event about what stalls the parent, and Wait is what it waits for.
	Notice Notice
	Wait   Wait
	// Answered is the last request for a reconcile that was answered.
	Answered string
	// memory is what is remembered for the running revision of the rule; nil if nothing is.
	memory *Memory
}

// Deletion is the deletion of the parent with this UID.
type Deletion struct {
	UID         types.UID
	Propagation metav1.DeletionPropagation
}

// StatusWrite is a write of the status of the parent with this UID. It made the version After of the version Before,
// from which a reconcile had evaluated the rule.
type StatusWrite struct {
	UID           types.UID
	Before, After string
}

// updated returns a value after a change; nil if it is empty then.
func updated[T any, P interface {
	*T
	IsEmpty() bool
}](value P, change func(P),
) P {
	if value == nil {
		value = new(T)
	}
	if change(value); value.IsEmpty() {
		return nil
	}
	return value
}

// Store has the State of each parent. It is safe for concurrent use.
type Store struct {
	mu sync.Mutex
	// byKey never has a zero State. Guarded by mu, like byRule.
	byKey  map[queue.Key]State
	byRule map[string]*ruleState
}

// NewStore makes an empty Store.
func NewStore() *Store {
	return &Store{byKey: make(map[queue.Key]State), byRule: make(map[string]*ruleState)}
}

// Get returns the State of a parent.
func (s *Store) Get(k queue.Key) State {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.byKey[k]
}

// Update changes the State of a parent. change must not call the Store.
func (s *Store) Update(k queue.Key, change func(*State)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	state := s.byKey[k]
	change(&state)
	s.set(k, state)
}

// set replaces the State of a parent. s.mu must be held.
func (s *Store) set(k queue.Key, state State) {
	if state == (State{}) {
		delete(s.byKey, k)
		return
	}
	s.byKey[k] = state
}

// TakeReported reports whether a status write is the last one of the parent, and forgets it then.
func (s *Store) TakeReported(k queue.Key, write StatusWrite) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	state := s.byKey[k]
	if state.Reported != write {
		return false
	}
	state.Reported = StatusWrite{}
	s.set(k, state)
	return true
}

// CountRetry returns how many reconciles of a parent in a row were repeated because an object changed during them.
// another is true if the last one was.
func (s *Store) CountRetry(k queue.Key, another bool) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	state := s.byKey[k]
	switch {
	case another:
		state.Retries++
	case state.Retries == 0:
		return 0
	default:
		state.Retries = 0
	}
	s.set(k, state)
	return state.Retries
}

// UpdateChain changes the Chain of a parent.
func (s *Store) UpdateChain(k queue.Key, change func(*feedback.Chain)) {
	s.Update(k, func(state *State) { state.Chain = updated(state.Chain, change) })
}

// UpdateChains changes the Chain of each parent that has one.
func (s *Store) UpdateChains(change func(queue.Key, *feedback.Chain)) {
	s.UpdateAll(func(k queue.Key, state *State) {
		if state.Chain != nil {
			state.Chain = updated(state.Chain, func(chain *feedback.Chain) { change(k, chain) })
		}
	})
}

// UpdateConflicts changes the Conflicts of the target of a patch.
func (s *Store) UpdateConflicts(k queue.Key, change func(*feedback.Conflicts)) {
	s.Update(k, func(state *State) { state.Conflicts = updated(state.Conflicts, change) })
}

// UpdateAll changes the State of each parent that has one. change must not call the Store.
func (s *Store) UpdateAll(change func(queue.Key, *State)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for k, before := range s.byKey {
		after := before
		switch change(k, &after); after {
		case before:
		case State{}:
			delete(s.byKey, k)
		default:
			s.byKey[k] = after
		}
	}
}

// Forget drops what is remembered of a parent.
func (s *Store) Forget(k queue.Key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.byKey, k)
	if of := s.byRule[k.Rule]; of != nil && k.Patch == "" {
		delete(of.conditions, k.Parent)
		delete(of.denied, k.Parent)
	}
}

// ForgetRule drops what is remembered of all parents of a rule.
func (s *Store) ForgetRule(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.byKey, func(k queue.Key, _ State) bool { return k.Rule == id })
	delete(s.byRule, id)
}

// AddKeys adds to found the parents of a rule of which anything is remembered.
func (s *Store) AddKeys(rule string, found queue.Keys) {
	s.mu.Lock()
	defer s.mu.Unlock()
	queue.AddOf(s.byKey, rule, found)
}

// SetFinalizer records whether a parent has the rule's finalizer.
func (s *Store) SetFinalizer(k queue.Key, has bool) {
	s.Update(k, func(state *State) { state.HasFinalizer = has })
}

// SetUnselected records whether a parent that still has fields of the rule no longer matches the rule's selector.
func (s *Store) SetUnselected(k queue.Key, unselected bool) {
	s.Update(k, func(state *State) { state.Unselected = unselected })
}

// ForgetConflicts drops the conflicts over the target of a patch.
func (s *Store) ForgetConflicts(k queue.Key) {
	s.Update(k, func(state *State) { state.Conflicts = nil })
}
