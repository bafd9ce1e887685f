package engine

import (
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"kanon.dev/kanon/engine/conditions"
	"kanon.dev/kanon/engine/queue"
)

// What is remembered of a parent is not taken for that of another one that was made
// under its name before its end was noticed, nor of another revision of the rule.
func TestMemoryIsOfOneParent(t *testing.T) {
	m := newMemories()
	k := aParent()
	kept := m.of(k, "one", "a")
	kept.events = make(conditions.Emitted, 1)
	m.keep(k, kept)
	for _, test := range []struct {
		uid      types.UID
		revision string
		want     bool
	}{{"one", "a", true}, {"two", "a", false}, {"one", "b", false}} {
		if got := m.of(k, test.uid, test.revision) == kept; got != test.want {
			t.Errorf("of parent %s and revision %s: remembered: %t, want %t", test.uid, test.revision, got, test.want)
		}
	}
}

// aParent is the work on some parent.
func aParent() queue.Key {
	return queue.Key{Rule: "r", Parent: types.NamespacedName{Namespace: "home", Name: "n"}}
}
