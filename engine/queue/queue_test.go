package queue

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
)

// inOneNamespace has all rules in one namespace.
func inOneNamespace(string) string { return "team-a" }

// emptyQueue makes a queue whose shares are larger than what tests hand out.
func emptyQueue() *fairQueue { return newFairQueue(inOneNamespace, 1000) }

func TestFairQueueTakesTurns(t *testing.T) {
	q := emptyQueue()
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
}

// A tenant with many rules has no more turns than one with a single rule, and a rule of its no more than another one.
func TestTenantsTakeTurns(t *testing.T) {
	namespaceOf := func(rule string) string { return rule[:1] }
	q := newFairQueue(namespaceOf, 1000)
	push := func(rule string, keys int) {
		for i := range keys {
			q.Push(Key{Rule: rule, Parent: types.NamespacedName{Name: fmt.Sprint(i)}})
		}
	}
	push("a1", 3)
	push("a2", 1)
	push("a3", 1)
	push("b1", 2)
	var got []string
	for q.Len() > 0 {
		got = append(got, q.Pop().Rule)
		if len(got) == 5 {
			push("b2", 1) // a namespace that ran empty is next but one
		}
	}
	want := []string{"a1", "b1", "a2", "b1", "a3", "a1", "b2", "a1"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("order of rules (-want +got):\n%s", diff)
	}
	if len(q.line) != 0 {
		t.Errorf("an empty queue keeps the line %v", q.line)
	}
}

// A rule that always has something waiting takes no more memory than what waits.
func TestLaneDoesNotGrow(t *testing.T) {
	const backlog = 10
	for _, isUrgent := range []bool{true, false} {
		q := emptyQueue()
		for i := range 100_000 {
			k := Key{Rule: "r", Parent: types.NamespacedName{Name: fmt.Sprint(i)}}
			if isUrgent {
				q.hurry(k)
			}
			q.Push(k)
			if q.Len() > backlog {
				if got, want := q.Pop().Parent.Name, fmt.Sprint(i-backlog); got != want {
					t.Fatalf("%s comes in place of %s", got, want)
				}
				q.release("r")
			}
		}
		l := q.lanes["r"]
		if size := cap(l.urgent) + cap(l.patient); size > 10*backlog {
			t.Errorf("urgent %t: %d keys wait, and there is room for %d", isUrgent, q.Len(), size)
		}
	}
}

// drain takes all keys that wait, and has worked on each before the next.
func drain(q *Queue) (names []string) {
	for q.Len() > 0 {
		k, _ := q.Get()
		names = append(names, k.Parent.Name)
		q.Done(k)
	}
	return names
}

func TestPatientKeysLetOthersBy(t *testing.T) {
	key := func(name string) Key { return Key{Rule: "r", Parent: types.NamespacedName{Name: name}} }
	for name, test := range map[string]struct {
		add  func(q *Queue)
		want []string
	}{
		"among each other they keep their order": {
			add: func(q *Queue) {
				for _, name := range []string{"a", "b", "c"} {
					q.AddPatient(key(name))
				}
			},
			want: []string{"a", "b", "c"},
		},
		"what happened later comes first, but not for ever": {
			add: func(q *Queue) {
				q.AddPatient(key("a"))
				q.AddPatient(key("b"))
				for i := range 5 {
					q.Add(key(fmt.Sprint(i)))
				}
			},
			want: []string{"0", "1", "2", "a", "3", "4", "b"},
		},
		"something happens to one that waits": {
			add: func(q *Queue) {
				q.AddPatient(key("a"))
				q.AddPatient(key("b"))
				q.AddPatient(key("c"))
				q.Add(key("b"))
			},
			want: []string{"b", "a", "c"},
		},
		"one that waits is to be looked at again": {
			add: func(q *Queue) {
				q.AddPatient(key("a"))
				q.Add(key("b"))
				q.AddPatient(key("b"))
			},
			want: []string{"b", "a"},
		},
		"one that was hurried is added again": {
			add: func(q *Queue) {
				q.AddPatient(key("a"))
				q.AddPatient(key("b"))
				q.Add(key("a"))
				k, _ := q.Get()
				q.Done(k)
				q.AddPatient(k)
			},
			want: []string{"b", "a"},
		},
		"one is tried again after a failure": {
			add: func(q *Queue) {
				q.Add(key("a"))
				k, _ := q.Get()
				q.AddAfter(k, 0)
				q.Add(key("b"))
				q.Done(k)
			},
			want: []string{"b", "a"},
		},
		"one is worked on": {
			add: func(q *Queue) {
				q.Add(key("a"))
				k, _ := q.Get()
				q.AddPatient(k)
				q.Add(key("b"))
				q.Done(k)
			},
			want: []string{"b", "a"},
		},
		"one to which something happened while it is worked on is to be looked at again": {
			add: func(q *Queue) {
				q.Add(key("a"))
				q.AddPatient(key("b"))
				k, _ := q.Get()
				q.Add(k)
				q.AddPatient(k)
				q.Done(k)
			},
			want: []string{"a", "b"},
		},
		"something happens to one that is worked on": {
			add: func(q *Queue) {
				q.Add(key("a"))
				q.AddPatient(key("b"))
				k, _ := q.Get()
				q.AddPatient(k)
				q.Add(k)
				q.Done(k)
			},
			want: []string{"a", "b"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			q := New(time.Millisecond, time.Second, &Counter{}, inOneNamespace, 16)
			defer q.ShutDown()
			test.add(q)
			if diff := cmp.Diff(test.want, drain(q)); diff != "" {
				t.Errorf("order of keys (-want +got):\n%s", diff)
			}
			if q.Waiting("r") != 0 || len(q.order.urgent) != 0 {
				t.Errorf("%d keys wait and %d are urgent in an empty queue", q.Waiting("r"), len(q.order.urgent))
			}
		})
	}
}

func TestQueueHoldsEachKeyOnce(t *testing.T) {
	q := New(time.Millisecond, time.Second, &Counter{}, inOneNamespace, 16)
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
	q := emptyQueue()
	for rule := range 50 {
		for parent := range 100 {
			q.Push(Key{Rule: fmt.Sprint(rule), Parent: types.NamespacedName{Name: fmt.Sprint(parent)}})
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		k := q.Pop()
		q.release(k.Rule)
		q.Push(k)
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
