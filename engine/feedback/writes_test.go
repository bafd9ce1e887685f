package feedback

import (
	"slices"
	"testing"
	"time"

	"kanon.dev/kanon/engine/identity"
	"kanon.dev/kanon/engine/queue"
)

// An event is Kanon's own where it shows a version that Kanon wrote lately, or an object that Kanon is writing.
func TestWhoMadeAChange(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	id, other := identity.Of(configMap("a", "")), identity.Of(configMap("b", ""))
	key := chainKey("a")
	version := func(resource string) Version { return Version{UID: "uid", Resource: resource} }
	for name, test := range map[string]struct {
		// object and version are what the event shows, after version 2 was written.
		object  identity.ID
		version Version
		// underway has a second write without an answer, deleted the object deleted, and later is when the event comes.
		underway, deleted bool
		later             time.Duration
		want              bool
	}{
		"the version that was written":         {object: id, version: version("2"), want: true},
		"another version":                      {object: id, version: version("3")},
		"another version during a write":       {object: id, version: version("3"), underway: true, want: true},
		"another object during a write":        {object: other, version: version("3"), underway: true},
		"any version of what was deleted":      {object: id, version: version("9"), deleted: true, want: true},
		"another object of the name":           {object: id, version: Version{UID: "other", Resource: "2"}, deleted: true},
		"as late as an event may come":         {object: id, version: version("2"), later: writeLife, want: true},
		"later than that, and it is forgotten": {object: id, version: version("2"), later: 3 * writeLife},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWrites()
			w.rotate(start)
			end := w.begin(newOwnWrite(key, id, "a", &Provenance{}, 0))
			effect := w.done(&Chain{}, key, id, version("2"), 0, start)
			if test.deleted {
				w.done(&Chain{}, key, id, Version{UID: "uid"}, 0, start)
			}
			end()
			if test.underway {
				defer w.begin(newOwnWrite(key, id, "a", &Provenance{}, 0))()
			}
			for passed := time.Duration(0); passed <= test.later; passed += writeLife {
				w.rotate(start.Add(passed))
			}
			got := w.of(Change{Object: test.object, Version: test.version})
			if (got != nil) != test.want {
				t.Errorf("Kanon made the change: %v, want %v", got != nil, test.want)
			}
			if effect == nil || effect.rounds.of(key) != 1 {
				t.Errorf("the effect of the write is %+v", effect)
			}
		})
	}
}

// Of a write that has not begun nothing is known.
func TestWriteThatHasNotBegun(t *testing.T) {
	t.Parallel()
	w, id := newWrites(), identity.Of(configMap("a", ""))
	defer w.begin(newOwnWrite(chainKey("a"), id, "a", &Provenance{}, 0))()
	if effect := w.done(&Chain{}, chainKey("b"), id, Version{UID: "uid", Resource: "1"}, 0, time.Time{}); effect != nil {
		t.Errorf("it has the effect %+v", effect)
	}
}

// Whatever somebody else changes begins another chain, and does not wait for the end of a pause.
func TestOthersEndAChain(t *testing.T) {
	t.Parallel()
	c := newChain(t)
	loop := func(i int) *Loop { return c.round("a", "x", []string{"0", "1"}[i%2]) }
	if _, found := c.until(100, loop); found == nil {
		t.Fatal("there is no loop")
	}
	k := chainKey("a")
	chain := c.chains[k]
	chain.changed(c.last)
	if _, wait := chain.begin(k, c.now, time.Minute); wait != firstPause {
		t.Errorf("the next round of the loop waits %s, want %s", wait, firstPause)
	}
	chain.changed(nil)
	chain.changed(c.last)
	how, wait := chain.begin(k, c.now, time.Minute)
	if wait != 0 || how.rounds.of(k) != 0 || how.Loop() == nil {
		t.Errorf("in the pause, a change by others waits %s, after %d rounds, in loop %v", wait, how.rounds.of(k), how.Loop())
	}
	c.now = c.now.Add(firstPause)
	chain.changed(nil)
	if how, _ := chain.begin(k, c.now, time.Minute); how.Loop() != nil || !chain.IsEmpty() {
		t.Errorf("after the pause, it is still in loop %v", how.Loop())
	}
}

// A change of a rule ends the loops in which it takes part, and no others.
func TestRestart(t *testing.T) {
	t.Parallel()
	c := newChain(t)
	c.until(100, func(int) *Loop { return c.round("a", "x", "same") })
	chain, own := c.chains[chainKey("a")], map[string]bool{chainKey("a").Rule: true}
	if chain.restart(chainKey("a"), map[string]bool{"another": true}) || chain.loop == nil {
		t.Error("a change of another rule ends the loop")
	}
	if !chain.restart(chainKey("a"), own) {
		t.Error("the key was in no loop")
	}
	if how, wait := chain.begin(chainKey("a"), c.now, time.Minute); wait != 0 || how.Loop() != nil {
		t.Errorf("afterwards it waits %s, in loop %v", wait, how.Loop())
	}
	if chain.restart(chainKey("a"), own) {
		t.Error("the key is in a loop")
	}
}

// A loop has the steps that lead from one reconcile of its key to the next.
func TestStepsOfALoop(t *testing.T) {
	t.Parallel()
	c := newChain(t)
	names := []string{"a", "b", "c"}
	rounds, found := c.until(1000, func(i int) *Loop { return c.round(names[i%3], names[i%3], "same") })
	if found == nil {
		t.Fatal("there is no loop")
	}
	var got []string
	for _, step := range found.Steps {
		got = append(got, step.Key.Parent.Name+" writes "+step.Wrote)
	}
	first := rounds % 3
	want := make([]string, 3)
	for i := range want {
		name := names[(first+i)%3]
		want[i] = name + " writes " + name
	}
	if !slices.Equal(got, want) {
		t.Errorf("the steps are %q, want %q", got, want)
	}
}

// The state of an object is what it says, and neither its version nor when it came about.
func TestDigest(t *testing.T) {
	t.Parallel()
	w := newWrites("kanon.dev/recreated")
	object := func(x, version, recreated, time string, generation int64) map[string]any {
		return map[string]any{
			"apiVersion": "v1", "kind": "Thing", "data": map[string]any{"x": x},
			"metadata": map[string]any{
				"name": "a", "uid": version, "resourceVersion": version, "generation": generation,
				"annotations": map[string]any{"kanon.dev/recreated": recreated, "note": x},
			},
			"status": map[string]any{
				"observedGeneration": generation,
				"conditions":         []any{map[string]any{"type": "Ready", "status": x, "lastTransitionTime": time}, "odd"},
			},
		}
	}
	digest := func(content map[string]any) uint64 {
		obj := configMap("", "")
		obj.Object = content
		return w.digest(obj)
	}
	one := digest(object("1", "7", "1 then", "noon", 1))
	if again := digest(object("1", "8", "2 now", "evening", 2)); again != one {
		t.Error("a later version in the same state has another digest")
	}
	if other := digest(object("2", "7", "1 then", "noon", 1)); other == one {
		t.Error("another state has the same digest")
	}
	with := object("1", "7", "1 then", "noon", 1)
	with["metadata"].(map[string]any)["labels"] = map[string]any{"a": "b"}
	if digest(with) == one {
		t.Error("a label makes no difference")
	}
	if with["metadata"].(map[string]any)["uid"] != "7" || with["status"].(map[string]any)["observedGeneration"] != int64(1) {
		t.Error("the object was changed")
	}
}

// TestAwaitWrite holds that what awaits a write of an object is called when the write has ended, once.
func TestAwaitWrite(t *testing.T) {
	t.Parallel()
	id, other := identity.Of(configMap("a", "")), identity.Of(configMap("b", ""))
	key := chainKey("a")
	w := newWrites()
	var called []string
	await := func(k queue.Key, object identity.ID, name string) bool {
		return w.await(k, object, func() { called = append(called, name) })
	}
	end := w.begin(newOwnWrite(key, id, "a", &Provenance{}, 0))
	if !await(key, id, "first") || !await(key, id, "second") {
		t.Error("a write that is under way is not awaited")
	}
	if await(key, other, "of another object") || await(chainKey("b"), id, "of another key") {
		t.Error("another write is awaited")
	}
	if len(called) > 0 {
		t.Errorf("during the write, called: %q", called)
	}
	end()
	if want := []string{"first", "second"}; !slices.Equal(called, want) {
		t.Errorf("after the write, called: %q, want %q", called, want)
	}
	if await(key, id, "too late") {
		t.Error("a write that has ended is awaited")
	}
}
