package queue

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
)

// A rule has at most its share of keys in work, and the rules of a tenant have four shares.
func TestShares(t *testing.T) {
	q := newFairQueue(func(rule string) string { return rule[:1] }, 2)
	push := func(rule string, keys int) {
		for i := range keys {
			q.Push(Key{Rule: rule, Parent: types.NamespacedName{Name: fmt.Sprint(i)}})
		}
	}
	drain := func() (rules []string) {
		for q.Len() > 0 {
			rules = append(rules, q.Pop().Rule)
		}
		return rules
	}
	expect := func(what string, want ...string) {
		t.Helper()
		if diff := cmp.Diff(want, drain()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
	push("a1", 5)
	push("b1", 1)
	expect("a1 has its share", "a1", "b1", "a1")
	push("a1", 1)
	push("b1", 1)
	expect("b1 has more turns", "b1")
	q.release("a1")
	expect("a1 has one key more", "a1")
	for i := range 5 {
		push(fmt.Sprint("a", i+2), 2)
	}
	expect("tenant a has its four shares", "a2", "a3", "a4", "a5", "a6", "a2")
	push("b2", 1)
	expect("tenant b has not", "b2")
	q.release("a2")
	expect("tenant a has one key more, and a1 has its own share", "a3")
	for range 2 {
		q.release("a1")
	}
	q.release("a3")
	if got := len(drain()); got != 3 {
		t.Errorf("%d keys were handed out for three that are done", got)
	}
	if n := q.Len(); n != 0 {
		t.Errorf("Len is %d", n)
	}
}

// All keys come, in whatever order they are added and done, and nothing is remembered afterwards.
func TestSharesForgetNothing(t *testing.T) {
	tenants := map[string]string{}
	q := newFairQueue(func(rule string) string { return tenants[rule] }, 2)
	var working []string
	got := map[string]int{}
	for i := range 3000 {
		rule := fmt.Sprint("r", i*7919%13)
		tenants[rule] = fmt.Sprint("t", i*31%3) // a rule that stops is another tenant's
		q.Push(Key{Rule: rule, Parent: types.NamespacedName{Name: fmt.Sprint(i)}})
		for range i % 3 {
			if q.Len() > 0 {
				k := q.Pop()
				got[k.Rule]++
				working = append(working, k.Rule)
			}
		}
		if i%4 > 0 && len(working) > 0 {
			at := i * 104729 % len(working)
			q.release(working[at])
			working = append(working[:at], working[at+1:]...)
		}
	}
	for len(working) > 0 || q.Len() > 0 {
		for q.Len() > 0 {
			k := q.Pop()
			got[k.Rule]++
			working = append(working, k.Rule)
		}
		q.release(working[0])
		working = working[1:]
	}
	sum := 0
	for _, n := range got {
		sum += n
	}
	if sum != 3000 {
		t.Errorf("%d of 3000 keys were handed out", sum)
	}
	if len(q.lanes)+len(q.tenants)+len(q.line) > 0 {
		t.Errorf("an empty queue keeps %v, %v, %v", q.lanes, q.tenants, q.line)
	}
}
