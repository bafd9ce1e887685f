package conditions

import (
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"kanon.dev/kanon/engine/queue"
)

// What is remembered of a parent is not used for another one that was created under its name before its end was noticed, nor
// for another revision of the rule.
func TestMemoryIsOfOneParent(t *testing.T) {
	t.Parallel()
	s := NewStore()
	k := queue.Key{Rule: "r", Parent: types.NamespacedName{Namespace: "home", Name: "n"}}
	kept := s.Memory(k, "one", "a")
	kept.Events = make(Emitted, 1)
	s.Keep(k, kept)
	for _, test := range []struct {
		uid      types.UID
		revision string
		want     bool
	}{{"one", "a", true}, {"two", "a", false}, {"one", "b", false}} {
		if got := s.Memory(k, test.uid, test.revision) == kept; got != test.want {
			t.Errorf("of parent %s and revision %s: remembered: %t, want %t", test.uid, test.revision, got, test.want)
		}
	}
	s.Release(k)
	if len(s.byKey) != 0 {
		t.Error("the memory of a parent that was released is kept")
	}
}
