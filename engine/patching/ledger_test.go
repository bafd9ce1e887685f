package patching

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"kanon.dev/kanon/engine/conditions"
	"kanon.dev/kanon/engine/operator"
	"kanon.dev/kanon/engine/queue"
)

// problem is a problem in a word; "later" is transient, and "" is none.
func problem(text string) conditions.Problem {
	switch text {
	case "":
		return conditions.Problem{}
	case "later":
		return conditions.Problem{Err: conditions.Transient(text)}
	}
	return conditions.Problem{Err: errors.New(text)}
}

func name(of string) types.NamespacedName { return types.NamespacedName{Namespace: "home", Name: of} }

// parentKey is the work on a parent, and targetKey that on what the patch sets in a target.
func parentKey(of string) queue.Key { return queue.Key{Rule: "r", Parent: name(of)} }
func targetKey(of string) queue.Key { return queue.Key{Rule: "r", Patch: "p", Parent: name(of)} }

// namesOf are what keys are about, sorted.
func namesOf(keys []queue.Key) []string {
	names := []string{}
	for _, k := range keys {
		names = append(names, k.Parent.Name)
	}
	slices.Sort(names)
	return names
}

// sets is a contribution of a part to each target.
func sets(parent contributor, targets ...string) *contribution {
	c := &contribution{contributor: parent, Parts: make(map[types.NamespacedName]*Part)}
	for _, target := range targets {
		c.Parts[name(target)] = &Part{}
	}
	return c
}

var (
	elder   = contributor{UID: "elder", Created: time.Unix(1, 0)}
	younger = contributor{UID: "younger", Created: time.Unix(2, 0)}
)

func parentOf(name string) contributor { return map[string]contributor{"a": younger, "b": elder}[name] }

// newRevision is a start of a rule with a patch for one kind of targets.
func newRevision(kind string) *operator.Plan {
	var patch operator.Patch
	patch.GVK.Version, patch.GVK.Kind = "v1", kind
	return &operator.Plan{ID: "r", Patches: map[string]operator.Patch{"p": patch}}
}

// begin makes a book in which a rule has started with two parents.
func begin(t *testing.T) (*ledgers, *operator.Plan) {
	t.Helper()
	b, revision := newLedgers(), newRevision("ConfigMap")
	b.expect(revision)
	parents := map[types.NamespacedName]contributor{name("a"): younger, name("b"): elder}
	if ready := b.begin(revision, parents, queue.Keys{targetKey("old"): true}); len(ready) > 0 {
		t.Fatalf("%v are ready before any parent was looked at", ready)
	}
	return b, revision
}

func check(t *testing.T, what string, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// Until each parent was looked at, a target is left alone; then what was asked for in
// between is looked at, too.
func TestWave(t *testing.T) {
	b, revision := begin(t)
	check(t, "news of a, before all were reconciled", namesOf(b.set(revision, name("a"), "p", sets(younger, "x"))), []string{})
	check(t, "ready after a", namesOf(b.reconciled(revision, name("a"))), []string{})
	saw, current := b.collect(revision, targetKey("x"))
	if !current || !saw.pending {
		t.Errorf("collected %+v, current %t, while b was not looked at; want pending", saw, current)
	}
	check(t, "woken by a look that was too early", namesOf(b.finish(targetKey("x"), saw, problem("later"), nil)), []string{})
	b.set(revision, name("b"), "p", sets(elder, "x"))
	check(t, "ready after b", namesOf(b.reconciled(revision, name("b"))), []string{"old", "x"})
	check(t, "ready after b, again", namesOf(b.reconciled(revision, name("b"))), []string{})

	saw, _ = b.collect(revision, targetKey("x"))
	check(t, "parents, the oldest first", saw.parents, []types.NamespacedName{name("b"), name("a")})
	if saw.pending || len(saw.parts) != 2 || !b.isBusy(targetKey("other")) {
		t.Errorf("collected %+v, want two parts and no wave", saw)
	}
	b.finish(targetKey("x"), saw, problem(""), nil)
	if b.isBusy(targetKey("x")) {
		t.Error("the patch is still busy after the look")
	}
	if _, current = b.collect(newRevision("ConfigMap"), targetKey("x")); current {
		t.Error("another revision may look at the target")
	}
}

// What is not known now stays as it was; what was never known casts doubt on a target
// until it is.
func TestDoubt(t *testing.T) {
	b, revision := begin(t)
	b.set(revision, name("a"), "p", sets(younger, "x"))
	b.set(revision, name("b"), "p", &contribution{contributor: elder, Doubtful: map[types.NamespacedName]bool{name("y"): true}})
	b.reconciled(revision, name("a"))
	b.reconciled(revision, name("b"))
	collect := func(of string) collected {
		saw, _ := b.collect(revision, targetKey(of))
		b.finish(targetKey(of), saw, problem(""), nil)
		return saw
	}
	check(t, "doubt about x", collect("x").doubt, "")
	check(t, "doubt about y", collect("y").doubt, "home/b")
	check(t, "news when b knows", namesOf(b.set(revision, name("b"), "p", sets(elder))), []string{"y"})
	check(t, "doubt about y when b knows", collect("y").doubt, "")

	check(t, "news when a does not know any more", namesOf(b.set(revision, name("a"), "p", &contribution{contributor: younger, Open: true})), []string{})
	saw := collect("x")
	check(t, "parents of x", saw.parents, []types.NamespacedName{name("a")})
	check(t, "doubt about x, of which all was known once", saw.doubt, "")
	again := contributor{UID: "again", Created: younger.Created}
	check(t, "news when a is created again and knows nothing", namesOf(b.set(revision, name("a"), "p", &contribution{contributor: again, Open: true})), []string{"x"})
	check(t, "doubt about x then", collect("x").doubt, "home/a")
}

// The end of a doubt leads back to what was left as it is for it, also where nobody
// contributes any more: something is to be released there.
func TestDoubtThatEnds(t *testing.T) {
	b, revision := begin(t)
	b.reconciled(revision, name("a"))
	b.reconciled(revision, name("b"))
	collect := func() collected {
		saw, _ := b.collect(revision, targetKey("old"))
		b.finish(targetKey("old"), saw, problem("held"), nil)
		return saw
	}
	named, other := "a", "b" // which of the two is named first, is not said
	if collect().doubt == "home/b" {
		named, other = other, named
	}
	check(t, "news when the one that is named goes", namesOf(b.drop(revision, name(named))), []string{"old"})
	check(t, "it leaves until somebody has worked on the target", b.hasPendingRestores(parentKey(named)), true)
	check(t, "doubt then", collect().doubt, "home/"+other)
	check(t, "it leaves then", b.hasPendingRestores(parentKey(named)), false)
	check(t, "news when another comes that is unknown", namesOf(b.set(revision, name("c"), "p", &contribution{contributor: younger, Open: true})), []string{})
	check(t, "news when that goes", namesOf(b.drop(revision, name("c"))), []string{})
	check(t, "news when it is known to be about another target", namesOf(b.set(revision, name(other), "p",
		&contribution{contributor: parentOf(other), Doubtful: map[types.NamespacedName]bool{name("x"): true}})), []string{"old"})
	saw, _ := b.collect(revision, targetKey("old"))
	check(t, "doubt in the end", saw.doubt, "")
	b.finish(targetKey("old"), saw, problem(""), nil)
	check(t, "news when the last one goes", namesOf(b.drop(revision, name(other))), []string{})
	check(t, "news of a parent that was forgotten", namesOf(b.drop(revision, name(other))), []string{})
	if a := b.of["r"].patches["p"]; len(b.of["r"].awaited)+len(a.contributions)+len(a.targets)+len(a.blocked) > 0 {
		t.Errorf("of nobody's contributions is kept: %+v, %+v", b.of["r"], a)
	}
}

// A parent asks for the problems of its contribution, and is enqueued when they are known or change.
func TestState(t *testing.T) {
	b, revision := begin(t)
	b.set(revision, name("a"), "p", sets(younger, "x"))
	b.set(revision, name("b"), "p", sets(elder, "x"))
	b.reconciled(revision, name("a"))
	b.reconciled(revision, name("b"))
	look := func(came string, left map[types.NamespacedName]conditions.Problem) []string {
		saw, _ := b.collect(revision, targetKey("x"))
		return namesOf(b.finish(targetKey("x"), saw, problem(came), left))
	}
	state := func(of string) string {
		problems, awaited := b.problemsOf(revision, name(of), "p")
		switch {
		case awaited:
			return "unknown"
		case len(problems) == 0:
			return ""
		}
		return problems[0].problem.Err.Error()
	}
	check(t, "a before a look", state("a"), "unknown")
	check(t, "woken by the first look", look("", nil), []string{"a"})
	check(t, "a after it", state("a"), "")
	check(t, "woken by one more", look("", nil), []string{})
	check(t, "woken where the younger is left out", look("", map[types.NamespacedName]conditions.Problem{name("a"): problem("contradicts")}), []string{"a"})
	check(t, "a then", state("a"), "contradicts")
	check(t, "b then", state("b"), "")
	check(t, "woken by what concerns both", look("forbidden", nil), []string{"a", "b"})
	check(t, "b then", state("b"), "forbidden")

	// A change during a look: who asks then is woken by the next one.
	saw, _ := b.collect(revision, targetKey("x"))
	check(t, "news when b goes", namesOf(b.drop(revision, name("b"))), []string{"x"})
	check(t, "a during the look", state("a"), "unknown")
	check(t, "woken by a look that is late", namesOf(b.finish(targetKey("x"), saw, problem(""), nil)), []string{})
	check(t, "b leaves until somebody has looked", b.hasPendingRestores(parentKey("b")), true)
	check(t, "woken by the next, even though it fails", look("forbidden", nil), []string{"a", "b"})
	check(t, "b leaves then", b.hasPendingRestores(parentKey("b")), false)
	check(t, "a leaves", b.hasPendingRestores(parentKey("a")), false)
	check(t, "woken by one that succeeds", look("", nil), []string{"a"})
	if b.drop(revision, name("a")); b.contributes(targetKey("x")) {
		t.Error("somebody still contributes")
	}
	b.forgetRule("r")
	if b.hasBegun(revision) {
		t.Error("a rule that stopped is still under way")
	}
}
