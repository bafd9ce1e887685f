package feedback

import (
	"fmt"
	"hash/maphash"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"kanon.dev/kanon/engine/identity"
	"kanon.dev/kanon/engine/queue"
)

// chainOf is a chain of reconciles without a cluster: each writes an object, and the write enqueues the next.
type chainOf struct {
	t      *testing.T
	writes *writes
	chains map[queue.Key]*Chain
	now    time.Time
	// last is what the last write leads to.
	last *Provenance
	// children is how many objects the rule has for each parent.
	children int
}

func newChain(t *testing.T) *chainOf {
	t.Helper()
	return &chainOf{t: t, writes: newWrites(), chains: make(map[queue.Key]*Chain), now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
}

func chainKey(name string) queue.Key {
	return queue.Key{Rule: "r", Parent: types.NamespacedName{Namespace: "home", Name: name}}
}

// configMap is a ConfigMap with data.x.
func configMap(name, x string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": name}, "data": map[string]any{"x": x},
	}}
}

// begin begins a reconcile of a key that the last write caused.
func (c *chainOf) begin(k queue.Key) (chain *Chain, how *Provenance) {
	chain = c.chains[k]
	if chain == nil {
		chain = &Chain{}
		c.chains[k] = chain
	}
	if c.last != nil {
		chain.changed(c.last)
	}
	c.now = c.now.Add(time.Millisecond)
	how, wait := chain.begin(k, c.now, time.Minute)
	for ; wait > 0; how, wait = chain.begin(k, c.now, time.Minute) {
		c.now = c.now.Add(wait)
	}
	return chain, how
}

// handOver is one reconcile of a key that writes nothing itself, and has the next key write. It gives the loop that the key is
// in.
func (c *chainOf) handOver(name string) *Loop {
	k := chainKey(name)
	chain, how := c.begin(k)
	chain.carryOn(k, how, c.now)
	c.last = how.then(k, "its part")
	return how.Loop()
}

// round is one reconcile of a key that the last write caused, and that writes content to an object. It gives the loop that the
// key is in.
func (c *chainOf) round(name, object, content string) *Loop {
	c.t.Helper()
	k := chainKey(name)
	chain, how := c.begin(k)
	obj := configMap(object, content)
	write := newOwnWrite(k, identity.Of(obj), object, how, c.children)
	end := c.writes.begin(write)
	c.last = c.writes.done(chain, k, identity.Of(obj), Version{UID: types.UID(object), Resource: c.now.String()}, c.writes.digest(obj), c.now)
	end()
	if c.writes.rotate(c.now) {
		for _, chain := range c.chains {
			chain.expire(c.now)
		}
	}
	for k, chain := range c.chains {
		if chain.IsEmpty() {
			delete(c.chains, k)
		}
	}
	return how.Loop()
}

// until makes rounds until one is in a loop, or there were so many.
func (c *chainOf) until(most int, round func(i int) *Loop) (rounds int, found *Loop) {
	c.t.Helper()
	for i := range most {
		if in := round(i); in != nil {
			return i, in
		}
	}
	return most, nil
}

// A chain is a loop when states come back, and when it is much longer than what the rule
// has to do.
func TestChains(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		children int
		round    func(c *chainOf, i int) *Loop
		most     int
		want     Kind
		// by is the last round at which it is to be found.
		by int
	}{
		"a value that goes to and fro": {
			round: func(c *chainOf, i int) *Loop { return c.round("a", "x", fmt.Sprint(i%2)) },
			most:  100, want: Repeating, by: 30,
		},
		"a value that is written as it is": {
			round: func(c *chainOf, _ int) *Loop { return c.round("a", "x", "same") },
			most:  100, want: Repeating, by: 30,
		},
		"two rules that set a value to and fro": {
			round: func(c *chainOf, i int) *Loop { return c.round([]string{"a", "b"}[i%2], "x", fmt.Sprint(i%2)) },
			most:  200, want: Repeating, by: 60, // 30 of each
		},
		"twenty parents in a ring": {
			round: func(c *chainOf, i int) *Loop { return c.round(fmt.Sprint(i%20), fmt.Sprint(i%20), "same") },
			most:  10_000, want: Repeating, by: 20 * 30,
		},
		"more parents in a ring than a provenance has": {
			round: func(c *chainOf, i int) *Loop { return c.round(fmt.Sprint(i%40), fmt.Sprint(i%40), "same") },
			most:  20_000, want: Repeating, by: 40*maxRounds + 40,
		},
		"a parent with a part in forty targets, which count": {
			round: func(c *chainOf, i int) *Loop {
				if i%2 == 0 {
					return c.handOver("parent")
				}
				target := fmt.Sprint("target", i/2%40)
				return c.round(target, target, fmt.Sprint(i))
			},
			most: 1_000, want: Long, by: 2*maxRounds + 10,
		},
		"a round of forty states": {
			round: func(c *chainOf, i int) *Loop { return c.round("a", "x", fmt.Sprint(i%40)) },
			most:  200, want: Repeating, by: 40 + 30,
		},
		"a counter of three digits, each an object": {
			round: func(c *chainOf, i int) *Loop {
				digit, n := 0, i
				for n%10 == 9 {
					digit, n = digit+1, n/10
				}
				return c.round("a", fmt.Sprint(digit), fmt.Sprint(n%10+1))
			},
			most: 250,
		},
		"an endless counter": {
			round: func(c *chainOf, i int) *Loop { return c.round("a", "x", fmt.Sprint(i)) },
			most:  10_000, want: Long, by: maxRounds,
		},
		"a state machine of a hundred states": {
			round: func(c *chainOf, i int) *Loop { return c.round("a", "x", fmt.Sprint(i)) },
			most:  100,
		},
		"a rollout of five thousand": {
			children: 5_000,
			round:    func(c *chainOf, i int) *Loop { return c.round("a", fmt.Sprint(i/3), fmt.Sprint(i)) },
			most:     15_000,
		},
		"steps that another rule takes, while the first says the same again and again": {
			round: func(c *chainOf, i int) *Loop {
				if i%2 == 0 {
					return c.round("a", "x", fmt.Sprint(i/2%2))
				}
				return c.round("b", "y", fmt.Sprint(i))
			},
			most: 400,
		},
		"a long way to a value that goes to and fro": {
			round: func(c *chainOf, i int) *Loop {
				if i < 200 {
					return c.round(fmt.Sprint("way", i), fmt.Sprint(i), "made")
				}
				return c.round([]string{"a", "b"}[i%2], "x", fmt.Sprint(i%2))
			},
			most: 500, want: Repeating, by: 260,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newChain(t)
			c.children = test.children
			rounds, found := c.until(test.most, func(i int) *Loop { return test.round(c, i) })
			got := noLoop
			if found != nil {
				got = found.Kind
			}
			if got != test.want || test.by > 0 && rounds > test.by {
				t.Errorf("after %d rounds it is of kind %d; want kind %d by round %d", rounds, got, test.want, test.by)
			}
		})
	}
}

// A chain that only makes progress goes on, however long it is: it waits for a second at first,
// and twice as long when it has become twice as long. Once states come back, it repeats.
func TestLongChain(t *testing.T) {
	t.Parallel()
	c := newChain(t)
	const turn = 4 * maxRounds // where the states begin to come back
	var loop *Loop
	at := make(map[int]time.Time)
	for i := range turn + 2*maxIdleRounds {
		at[i] = c.now
		loop = c.round("a", "x", fmt.Sprint(i%turn))
		switch {
		case i < maxRounds-1 && loop != nil, i > maxRounds && i < turn && (loop == nil || loop.Kind != Long):
			t.Fatalf("round %d is in the loop %+v", i, loop)
		}
	}
	pauses := func(from, to int) time.Duration { return at[to].Sub(at[from]) / time.Duration(to-from) }
	for from, want := range map[int]time.Duration{maxRounds + 2: longPause, 2 * maxRounds: 2 * longPause, 3 * maxRounds: 3 * longPause} {
		if got := pauses(from, from+20); got < want || got > want*11/10 {
			t.Errorf("from round %d on, it waits %s; want %s", from, got, want)
		}
	}
	if loop == nil || loop.Kind != Repeating {
		t.Errorf("when states come back, the loop is %+v", loop)
	}
	if got := pauses(turn+maxIdleRounds+5, turn+maxIdleRounds+6); got < firstPause {
		t.Errorf("when states come back, it waits %s", got)
	}
}

// When a long chain turns out to have more work, it does not wait any more.
func TestLongChainWithMoreWork(t *testing.T) {
	t.Parallel()
	c := newChain(t)
	rounds, loop := c.until(2*maxRounds, func(i int) *Loop { return c.round("a", "x", fmt.Sprint(i)) })
	if loop == nil {
		t.Fatal("it never waited")
	}
	c.children = maxRounds
	c.round("a", "x", "first of many")
	if loop = c.round("a", "x", "second of many"); loop != nil {
		t.Errorf("after %d rounds and more work it is in the loop %+v", rounds, loop)
	}
}

// Who takes part in a loop that was found with another key is in it, too, and does not
// have to come to it by itself.
func TestLoopIsFoundWithAllItsKeys(t *testing.T) {
	t.Parallel()
	for name, content := range map[string]func(i int) string{
		"long": func(i int) string { return fmt.Sprint(i) }, "repeating": func(int) string { return "same" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newChain(t)
			// a comes back twice as often as b, which has work for thousands of objects.
			round := func(i int) *Loop {
				key := []string{"a", "a", "b"}[i%3]
				c.children = i % 3 / 2 * 1_000
				return c.round(key, key, content(i))
			}
			rounds, loop := c.until(3*maxRounds, round)
			if loop == nil || loop.found != chainKey("a") {
				t.Fatalf("after %d rounds, the loop is %+v", rounds, loop)
			}
			for i := range 6 {
				if joined := round(rounds + 1 + i); joined != nil && joined.Steps[0].Key == chainKey("b") {
					if joined.Rounds != loop.Rounds {
						t.Errorf("b says that the chain has %d rounds, and a %d", joined.Rounds, loop.Rounds)
					}
					return
				}
			}
			t.Error("six rounds after a, b is in no loop")
		})
	}
}

// A change by somebody else during a pause does not wait, and does not end the pauses: what rules write still goes on.
// When the chain comes to rest, the next change finds no loop.
func TestLongChainAndChangesByOthers(t *testing.T) {
	t.Parallel()
	c := newChain(t)
	count := 0
	next := func() *Loop { count++; return c.round("a", "x", fmt.Sprint(count)) }
	if _, loop := c.until(2*maxRounds, func(int) *Loop { return next() }); loop == nil {
		t.Fatal("it never waited")
	}
	for range 5 {
		before := c.now
		c.last = nil
		c.chains[chainKey("a")].changed(nil)
		if next(); c.now.Sub(before) >= longPause {
			t.Errorf("the change by somebody else waited for %s", c.now.Sub(before))
		}
		for range 5 {
			before = c.now
			if loop := next(); loop == nil || loop.Kind != Long || c.now.Sub(before) < longPause*9/10 {
				t.Fatalf("after a change by somebody else, the loop is %+v after %s", loop, c.now.Sub(before))
			}
		}
	}
	c.now, c.last = c.now.Add(time.Minute), nil
	c.chains[chainKey("a")].changed(nil)
	if loop := next(); loop != nil {
		t.Errorf("after a rest, the loop is %+v", loop)
	}
}

// The states of a chain that never ends do not fill the memory.
func TestStatesAreBounded(t *testing.T) {
	t.Parallel()
	p := &progress{contents: make(map[uint64]uint64), states: make(map[uint64]struct{})}
	seed := maphash.MakeSeed()
	for i := range uint64(5 * maxStates) {
		if !p.put(seed, 1, i) {
			t.Fatalf("state %d is not new", i)
		}
	}
	if n := len(p.states) + len(p.earlier); n > 2*maxStates {
		t.Errorf("%d states are remembered", n)
	}
	if p.put(seed, 1, 4*maxStates) {
		t.Error("a state of before is not remembered")
	}
}

// Keys that joined a long chain leave it together with the key with which it was found.
func TestLongChainIsLeftTogether(t *testing.T) {
	t.Parallel()
	c := newChain(t)
	round := func(i int) *Loop { return c.round([]string{"a", "a", "b"}[i%3], "x", fmt.Sprint(i)) }
	rounds, loop := c.until(3*maxRounds, round)
	if loop == nil {
		t.Fatal("it never waited")
	}
	var in []*Loop
	for i := range 18 {
		if i == 9 {
			c.children = maxRounds
		}
		in = append(in, round(rounds+1+i))
	}
	for i, loop := range in {
		if joined, left := i >= 3 && i < 9, i >= 15; joined && loop == nil || left && loop != nil {
			t.Errorf("round %d after the first pause is in the loop %+v", i, loop)
		}
	}
}

// Chains that are short, as by far most are, are not remembered, and long ones no longer
// than what is known of writes.
func TestShortChainsCostNothing(t *testing.T) {
	t.Parallel()
	c := newChain(t)
	for i := range 20_000 {
		c.last = nil
		for step := range trackedFrom {
			c.round(fmt.Sprint(i), fmt.Sprint(i), fmt.Sprint(step))
		}
	}
	if n := len(c.chains); n > 0 {
		t.Errorf("%d chains of %d rounds are remembered", n, trackedFrom)
	}
	for i := range 100 {
		c.last = nil
		for step := range 10 {
			c.round(fmt.Sprint(i), fmt.Sprint(i), fmt.Sprint(step))
		}
	}
	if n := len(c.chains); n != 100 {
		t.Fatalf("%d of 100 long chains are remembered", n)
	}
	for range 4 {
		c.now, c.last = c.now.Add(writeLife), nil
		c.round("other", "other", "x")
	}
	if n := len(c.chains); n > 0 {
		t.Errorf("%d chains are remembered that nothing can continue", n)
	}
	if n := len(c.writes.written) + len(c.writes.before); n > 4 {
		t.Errorf("%d writes are remembered", n)
	}
}

// A provenance stays small, however many keys it went by.
func TestProvenanceIsBounded(t *testing.T) {
	t.Parallel()
	c := newChain(t)
	for i := range 1_000 {
		for range 3 {
			c.round(fmt.Sprint(i), fmt.Sprint(i), "made")
		}
	}
	if keys, steps := len(c.last.rounds), len(c.last.steps); keys > maxKeys+1 || steps > maxKeys {
		t.Errorf("it has %d keys and %d steps", keys, steps)
	}
}
