package queue

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
)

func newFairQueue() *fairQueue {
	return &fairQueue{waiting: &waiting{keys: make(map[string]int)}}
}

func TestFairQueueTakesTurns(t *testing.T) {
	q := newFairQueue()
	push := func(rule string, names ...string) {
		for _, name := range names {
			q.Push(Key{Rule: rule, Parent: types.NamespacedName{Name: name}})
		}
	}
	push("busy", "1", "2", "3", "4")
	push("quiet", "a")
	var got []string
	for q.Len() > 0 {
		k := q.Pop()
		got = append(got, k.Rule+k.Parent.Name)
		if len(got) == 2 {
			push("quiet", "b") // a rule that ran empty takes its turn again
		}
	}
	want := []string{"busy1", "quieta", "busy2", "quietb", "busy3", "busy4"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("order of keys (-want +got):\n%s", diff)
	}
	if len(q.lanes) != 0 {
		t.Errorf("an empty queue keeps %d lanes", len(q.lanes))
	}
}

// A rule that always has something waiting takes no more memory than what waits.
func TestLaneDoesNotGrow(t *testing.T) {
	q := newFairQueue()
	const backlog = 10
	for i := range 100_000 {
		q.Push(Key{Rule: "r", Parent: types.NamespacedName{Name: fmt.Sprint(i)}})
		if q.Len() > backlog {
			if got, want := q.Pop().Parent.Name, fmt.Sprint(i-backlog); got != want {
				t.Fatalf("%s comes in place of %s", got, want)
			}
		}
	}
	if size := cap(q.lanes["r"].keys); size > 10*backlog {
		t.Errorf("%d keys wait, and there is room for %d", q.Len(), size)
	}
}

func TestQueueHoldsEachKeyOnce(t *testing.T) {
	q := New(time.Millisecond, time.Second)
	defer q.ShutDown()
	k := Key{Rule: "r", Parent: types.NamespacedName{Name: "p"}}
	for range 3 {
		q.Add(k)
	}
	if q.Len() != 1 || q.Waiting("r") != 1 || q.Waiting("other") != 0 {
		t.Fatalf("the queue has %d keys, %d of the rule and %d of another, want 1, 1 and 0",
			q.Len(), q.Waiting("r"), q.Waiting("other"))
	}
	got, _ := q.Get()
	if q.Waiting("r") != 0 {
		t.Error("a key that is worked on counts as waiting")
	}
	q.Add(got) // woken while it is worked on: it comes again, once
	q.Done(got)
	if q.Len() != 1 {
		t.Errorf("a key woken during its work left %d keys, want 1", q.Len())
	}
}

func BenchmarkFairQueue(b *testing.B) {
	q := newFairQueue()
	for rule := range 50 {
		for parent := range 100 {
			q.Push(Key{Rule: fmt.Sprint(rule), Parent: types.NamespacedName{Name: fmt.Sprint(parent)}})
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		q.Push(q.Pop())
	}
}

func TestParseKey(t *testing.T) {
	for _, parent := range []types.NamespacedName{{Namespace: "ns", Name: "a"}, {Name: "cluster-scoped"}} {
		want := Key{Rule: "r", Parent: parent}
		if got, ok := ParseKey(want.String()); !ok || got != want {
			t.Errorf("%q is read as %+v, %t", want, got, ok)
		}
	}
	for _, text := range []string{"", "r", "r/ns"} {
		if k, ok := ParseKey(text); ok {
			t.Errorf("%q is read as %+v", text, k)
		}
	}
}
