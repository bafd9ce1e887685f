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
			c := newChain(t)
			start := c.now
			end := c.tracker.BeginWrite(key, id, "a", &Provenance{}, 0)
			effect := c.tracker.Wrote(key, id, version("2"))
			if test.deleted {
				c.tracker.Wrote(key, id, Version{UID: "uid"})
			}
			end()
			if test.underway {
				defer c.tracker.BeginWrite(key, id, "a", &Provenance{}, 0)()
			}
			for passed := time.Duration(0); passed <= test.later; passed += writeLife {
				c.now = start.Add(passed)
				c.tracker.expire()
			}
			got := c.tracker.CauseOf(Change{Object: test.object, Version: test.version})
			if (got != nil) != test.want {
				t.Errorf("Kanon made the change: %v, want %v", got != nil, test.want)
			}
			if effect == nil || len(effect.since(key)) != 1 {
				t.Errorf("the effect of the write is %+v", effect)
			}
		})
	}
}

// Of a write that has not begun nothing is known.
func TestWriteThatHasNotBegun(t *testing.T) {
	t.Parallel()
	c, id := newChain(t), identity.Of(configMap("a", ""))
	defer c.tracker.BeginWrite(chainKey("a"), id, "a", &Provenance{}, 0)()
	if effect := c.tracker.Wrote(chainKey("b"), id, Version{UID: "uid", Resource: "1"}); effect != nil {
		t.Errorf("it has the effect %+v", effect)
	}
}

// Whatever somebody else changes begins another chain, and does not wait for the end of a pause.
func TestOthersEndAChain(t *testing.T) {
	t.Parallel()
	c := newChain(t)
	loop := func(i int) *Loop { return c.round("a", "x", []string{"0", "1"}[i%2]) }
	if _, found := c.until(2*maxRounds, loop); found == nil {
		t.Fatal("there is no loop")
	}
	k := chainKey("a")
	chain := c.chains[k]
	chain.changed(c.last)
	if _, wait := chain.begin(k, c.now, time.Minute); wait != loopPause {
		t.Errorf("the next round of the loop waits %s, want %s", wait, loopPause)
	}
	chain.changed(nil)
	chain.changed(c.last)
	how, wait := chain.begin(k, c.now, time.Minute)
	if wait != 0 || len(how.steps) > 0 || how.Loop() == nil {
		t.Errorf("in the pause, a change by others waits %s, in loop %v", wait, how.Loop())
	}
	c.now = c.now.Add(loopPause)
	chain.changed(nil)
	if how, _ := chain.begin(k, c.now, time.Minute); how.Loop() != nil || !chain.IsEmpty() {
		t.Errorf("after the pause, it is still in loop %v", how.Loop())
	}
}

// A change of a rule ends the loops in which it takes part, and no others.
func TestRestart(t *testing.T) {
	t.Parallel()
	c := newChain(t)
	c.until(2*maxRounds, func(int) *Loop { return c.round("a", "x", "same") })
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

// TestAwaitWrite holds that what awaits a write of an object is called when the write has ended, once.
func TestAwaitWrite(t *testing.T) {
	t.Parallel()
	id, other := identity.Of(configMap("a", "")), identity.Of(configMap("b", ""))
	key := chainKey("a")
	w := newChain(t).tracker
	var called []string
	await := func(k queue.Key, object identity.ID, name string) bool {
		return w.AwaitWrite(k, object, func() { called = append(called, name) })
	}
	end := w.BeginWrite(key, id, "a", &Provenance{}, 0)
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
