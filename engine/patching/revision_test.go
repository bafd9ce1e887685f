package patching

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
		b.set(old, name(parent), "p", sets(parentOf(parent), "x"))
		b.reconciled(old, name(parent))
	}
	begun, _ := b.collect(old, targetKey("x")) // and Finish comes late
	parents := map[types.NamespacedName]contributor{name("a"): younger, name("b"): elder}
	now := newRevision("ConfigMap")
	b.expect(now)
	if b.hasBegun(old) || b.hasBegun(now) {
		t.Error("a revision that was replaced, or one that did not begin, is under way")
	}
	late := func(when string) {
		t.Helper()
		check(t, "news of a set, "+when, namesOf(b.set(old, name("a"), "p", sets(younger))), []string{})
		check(t, "news of a parent that is dropped, "+when, namesOf(b.drop(old, name("b"))), []string{})
		check(t, "ready after what is no pass, "+when, namesOf(b.reconciled(old, name("a"))), []string{})
		if _, awaited := b.problemsOf(old, name("a"), "p"); !awaited {
			t.Errorf("%s, a replaced revision knows the problems of a", when)
		}
		if _, current := b.collect(old, targetKey("x")); current {
			t.Errorf("%s, a replaced revision works on a target", when)
		}
	}
	late("before the new one begins")
	check(t, "ready at once", namesOf(b.begin(now, parents, nil)), []string{})
	late("after that")
	check(t, "told by a work that is late", namesOf(b.finish(targetKey("x"), begun, problem("forbidden"), nil)), []string{})
	if b.isBusy(targetKey("x")) {
		t.Error("the patch is busy after the work ended")
	}
	check(t, "ready when the old one begins late", namesOf(b.begin(old, nil, queue.Keys{targetKey("y"): true})), []string{})
	check(t, "ready after b", namesOf(b.reconciled(now, name("b"))), []string{})
	check(t, "ready after a", namesOf(b.reconciled(now, name("a"))), []string{"x"})
	saw, _ := b.collect(now, targetKey("x"))
	check(t, "parents of x", saw.parents, []types.NamespacedName{name("b"), name("a")})
	b.finish(targetKey("x"), saw, problem(""), nil)

	b.forgetRule("r")
	late("after the rule stopped")
	check(t, "a revision that nobody expects begins", namesOf(b.begin(now, nil, queue.Keys{targetKey("y"): true})), []string{})
}

// A patch that has targets of another kind now begins anew, and nobody waits for the old
// ones.
func TestPatchOfAnotherKind(t *testing.T) {
	b, old := begin(t)
	b.set(old, name("a"), "p", sets(younger, "x"))
	b.problemsOf(old, name("a"), "p")
	b.reconciled(old, name("a"))
	b.reconciled(old, name("b"))
	b.drop(old, name("b"))
	now := newRevision("Secret")
	b.expect(now)
	b.begin(now, map[types.NamespacedName]contributor{name("a"): younger}, nil)
	check(t, "b leaves", b.hasPendingRestores(parentKey("b")), false)
	b.set(now, name("a"), "p", sets(younger, "y"))
	b.problemsOf(now, name("a"), "p")
	check(t, "ready", namesOf(b.reconciled(now, name("a"))), []string{"y"})
	saw, _ := b.collect(now, targetKey("y"))
	check(t, "told", namesOf(b.finish(targetKey("y"), saw, problem(""), nil)), []string{"a"})
}
