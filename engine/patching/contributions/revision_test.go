package contributions

import (
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"kanon.dev/kanon/engine/queue"
)

// A pass of an operator that was replaced ends late: what it says is not taken in, and the
// parent counts as one that is still to be reconciled.
func TestReplacedRevision(t *testing.T) {
	b, old := begin(t)
	for _, parent := range []string{"a", "b"} {
		b.Set(old, name(parent), "p", sets(parentOf(parent), "x"))
		b.Reconciled(old, name(parent))
	}
	begun, _ := b.Collect(old, targetKey("x")) // and Finish comes late
	parents := map[types.NamespacedName]Parent{name("a"): younger, name("b"): elder}
	now := newRevision("ConfigMap")
	b.Expect(now)
	if b.HasBegun(old) || b.HasBegun(now) {
		t.Error("a revision that was replaced, or one that did not begin, is under way")
	}
	late := func(when string) {
		t.Helper()
		check(t, "news of a set, "+when, namesOf(b.Set(old, name("a"), "p", sets(younger))), []string{})
		check(t, "news of a parent that is dropped, "+when, namesOf(b.Drop(old, name("b"))), []string{})
		check(t, "ready after what is no pass, "+when, namesOf(b.Reconciled(old, name("a"))), []string{})
		if _, awaited := b.ProblemsOf(old, name("a"), "p"); !awaited {
			t.Errorf("%s, a replaced revision knows the problems of a", when)
		}
		if _, current := b.Collect(old, targetKey("x")); current {
			t.Errorf("%s, a replaced revision works on a target", when)
		}
	}
	late("before the new one begins")
	check(t, "ready at once", namesOf(b.Begin(now, parents, nil)), []string{})
	late("after that")
	check(t, "told by a work that is late", namesOf(b.Finish(targetKey("x"), begun, problem("forbidden"), nil)), []string{})
	if b.IsBusy(targetKey("x")) {
		t.Error("the patch is busy after the work ended")
	}
	check(t, "ready when the old one begins late", namesOf(b.Begin(old, nil, queue.Keys{targetKey("y"): true})), []string{})
	check(t, "ready after b", namesOf(b.Reconciled(now, name("b"))), []string{})
	check(t, "ready after a", namesOf(b.Reconciled(now, name("a"))), []string{"x"})
	saw, _ := b.Collect(now, targetKey("x"))
	check(t, "parents of x", saw.Parents, []types.NamespacedName{name("b"), name("a")})
	b.Finish(targetKey("x"), saw, problem(""), nil)

	b.ForgetRule("r")
	late("after the rule stopped")
	check(t, "a revision that nobody expects begins", namesOf(b.Begin(now, nil, queue.Keys{targetKey("y"): true})), []string{})
}

// A patch that has targets of another kind now begins anew, and nobody waits for the old
// ones.
func TestPatchOfAnotherKind(t *testing.T) {
	b, old := begin(t)
	b.Set(old, name("a"), "p", sets(younger, "x"))
	b.ProblemsOf(old, name("a"), "p")
	b.Reconciled(old, name("a"))
	b.Reconciled(old, name("b"))
	b.Drop(old, name("b"))
	now := newRevision("Secret")
	b.Expect(now)
	b.Begin(now, map[types.NamespacedName]Parent{name("a"): younger}, nil)
	check(t, "b leaves", b.HasPendingRestores(parentKey("b")), false)
	b.Set(now, name("a"), "p", sets(younger, "y"))
	b.ProblemsOf(now, name("a"), "p")
	check(t, "ready", namesOf(b.Reconciled(now, name("a"))), []string{"y"})
	saw, _ := b.Collect(now, targetKey("y"))
	check(t, "told", namesOf(b.Finish(targetKey("y"), saw, problem(""), nil)), []string{"a"})
}
