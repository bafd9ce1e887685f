package conditions

import (
	"maps"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"kanon.dev/kanon/engine/feedback"
	"kanon.dev/kanon/engine/queue"
)

// What is remembered of a parent is forgotten at once, of a key and of a rule, and nothing stays of a parent of which there is
// nothing to say.
func TestStoreForgets(t *testing.T) {
	t.Parallel()
	key := func(rule, name string) queue.Key {
		return queue.Key{Rule: rule, Parent: types.NamespacedName{Name: name}}
	}
	s := NewStore()
	for _, k := range []queue.Key{key("r", "a"), key("r", "b"), key("s", "a")} {
		s.Update(k, func(state *State) { state.Unselected, state.Deletion.UID = true, "uid" })
	}
	s.Update(key("r", "b"), func(state *State) { state.Unselected = false })
	if got := s.Get(key("r", "b")); got.Unselected || got.Deletion.UID != "uid" {
		t.Errorf("an update lost a field: %+v", got)
	}
	s.Update(key("r", "b"), func(state *State) { *state = State{} })
	found := make(queue.Keys)
	s.AddKeys("r", found)
	if len(found) != 1 || !found[key("r", "a")] {
		t.Errorf("of rule r it remembers %v, want a only", found)
	}
	s.ForgetRule("r")
	s.Forget(key("s", "a"))
	if len(s.byKey) != 0 {
		t.Errorf("it still remembers %v", s.byKey)
	}
}

// A change of all States reaches each of them, and a Chain of which nothing is known is dropped.
func TestUpdateAll(t *testing.T) {
	t.Parallel()
	key := func(name string) queue.Key { return queue.Key{Rule: "r", Parent: types.NamespacedName{Name: name}} }
	s := NewStore()
	s.UpdateChain(key("empty"), func(*feedback.Chain) {})
	s.Update(key("left"), func(state *State) { state.Unselected = true })
	for _, name := range []string{"chain", "both"} {
		s.SetUnselected(key(name), name == "both")
		feedback.NewTracker(s, time.Now).Caused(key(name), nil)
	}
	seen := make(queue.Keys)
	s.UpdateAll(func(k queue.Key, _ *State) { seen[k] = true })
	s.UpdateChains(func(_ queue.Key, c *feedback.Chain) { *c = feedback.Chain{} })
	if want := (queue.Keys{key("left"): true, key("chain"): true, key("both"): true}); !maps.Equal(seen, want) {
		t.Errorf("it reaches %v, want %v", seen, want)
	}
	left := make(queue.Keys)
	s.AddKeys("r", left)
	if want := (queue.Keys{key("left"): true, key("both"): true}); !maps.Equal(left, want) {
		t.Errorf("it still remembers %v, want %v", left, want)
	}
}
