package engine

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"

	"kanon.dev/kanon/engine/queue"
)

// What is remembered of a parent is not taken for that of another one that was made
// under its name before its end was noticed, nor of another revision of the rule.
func TestMemoryIsOfOneParent(t *testing.T) {
	m := newMemories()
	k := aParent()
	kept := m.of(k, "one", "a")
	kept.events = make([]announced, 1)
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

// The same trouble is told once of a parent, and once more of one that was made anew.
func TestNoticeIsOfOneParent(t *testing.T) {
	n := newNotices(record.NewFakeRecorder(0))
	stalled := state{condition: conditionStalled, reason: reasonInvalid, message: "refused"}
	for _, test := range []struct {
		uid  types.UID
		want bool
	}{{"one", true}, {"one", false}, {"two", true}, {"two", false}} {
		parent := &unstructured.Unstructured{Object: map[string]any{}}
		parent.SetUID(test.uid)
		if got := n.isNew(aParent(), parent, "", stalled); got != test.want {
			t.Errorf("of parent %s an Event is due: %t, want %t", test.uid, got, test.want)
		}
	}
}

// aParent is the work on some parent.
func aParent() queue.Key {
	return queue.Key{Rule: "r", Parent: types.NamespacedName{Namespace: "home", Name: "n"}}
}
