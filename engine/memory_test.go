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
	recorder := record.NewFakeRecorder(10)
	n := newNotices(recorder)
	stalled := state{condition: conditionStalled, reason: reasonInvalid, message: "refused"}
	for _, test := range []struct {
		uid  types.UID
		want int // Events in all
	}{{"one", 1}, {"one", 1}, {"two", 2}, {"two", 2}} {
		parent := &unstructured.Unstructured{Object: map[string]any{}}
		parent.SetUID(test.uid)
		n.tell(aParent(), parent, "", stalled)
		if got := len(recorder.Events); got != test.want {
			t.Errorf("after a look at parent %s there are %d Events, want %d", test.uid, got, test.want)
		}
	}
}

// aParent is the work on some parent.
func aParent() queue.Key {
	return queue.Key{Rule: "r", Parent: types.NamespacedName{Namespace: "home", Name: "n"}}
}
