package conditions

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"kanon.dev/kanon/engine/queue"
)

// A parent counts once, as it fared last, until it is forgotten.
func TestConditions(t *testing.T) {
	t.Parallel()
	s := NewStore()
	ready, stalled := Condition{Type: "Ready", Reason: "Ready"}, Condition{Type: "Stalled", Reason: "Contested"}
	key := func(rule, name string) queue.Key {
		return queue.Key{Rule: rule, Parent: types.NamespacedName{Namespace: "home", Name: name}}
	}
	want := func(step, rule string, want map[Condition]int) {
		t.Helper()
		if diff := cmp.Diff(want, s.Conditions(rule)); diff != "" {
			t.Errorf("%s, rule %s (-want +got):\n%s", step, rule, diff)
		}
	}
	want("at first", "r", map[Condition]int{})
	for _, name := range []string{"a", "b", "b", "c"} {
		s.SetCondition(key("r", name), ready)
	}
	s.SetCondition(key("other", "a"), stalled)
	want("three are ready", "r", map[Condition]int{ready: 3})
	s.SetCondition(key("r", "b"), stalled)
	s.SetCondition(key("r", "c"), stalled)
	want("two stall", "r", map[Condition]int{ready: 1, stalled: 2})
	s.SetCondition(key("r", "b"), ready)
	s.Forget(key("r", "a"))
	s.Forget(key("r", "a"))
	s.Forget(queue.Key{Rule: "r", Parent: types.NamespacedName{Namespace: "home", Name: "b"}, Patch: "p"}) // a target of that name
	want("one goes", "r", map[Condition]int{ready: 1, stalled: 1})
	s.Release(key("r", "c"))
	want("one is selected no more", "r", map[Condition]int{ready: 1})
	s.ForgetRule("r")
	want("the rule goes", "r", map[Condition]int{})
	want("the rule goes", "other", map[Condition]int{stalled: 1})
}
