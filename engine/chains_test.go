package engine

import (
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"kanon.dev/kanon/engine/identity"
	"kanon.dev/kanon/engine/queue"
)

// chainOf is a chain of reconciles without a cluster: each writes an object, and the
// write wakes the next.
type chainOf struct {
	t      *testing.T
	causes *causes
	now    time.Time
	// last is what the last write leads to.
	last *history
	// objects is how many the rule has for each parent.
	objects int
}

func newChain(t *testing.T) *chainOf {
	t.Helper()
	return &chainOf{t: t, causes: newCauses(), now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
}

func chainKey(name string) queue.Key {
	return queue.Key{Rule: "r", Parent: types.NamespacedName{Namespace: "home", Name: name}}
}

// turn is one reconcile of a key that the last write caused, and that writes content to
// an object. It gives the loop that it is in.
func (c *chainOf) turn(name, object, content string) *loop {
	c.t.Helper()
	k := chainKey(name)
	if c.last != nil {
		c.causes.hand(k, c.last)
	}
	c.now = c.now.Add(time.Millisecond)
	how, in, rest := c.causes.take(k, c.now, time.Minute)
	for ; rest > 0; how, in, rest = c.causes.take(k, c.now, time.Minute) {
		c.now = c.now.Add(rest)
	}
	obj := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": object}, "data": map[string]any{"x": content},
	}}
	d := newDeed(k, object, how, c.objects)
	end := c.causes.begin(identity.Of(obj), d)
	c.last = c.causes.did(identity.Of(obj), versionAt(obj), d, c.causes.digestFor(d, obj), c.now)
	end()
	return in
}

// until makes turns until one is in a loop, or there were so many.
func (c *chainOf) until(most int, turn func(i int) *loop) (turns int, found *loop) {
	c.t.Helper()
	for i := range most {
		if in := turn(i); in != nil {
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
		objects int
		turn    func(c *chainOf, i int) *loop
		most    int
		want    loopKind
		// by is the last turn at which it is to be found.
		by int
	}{
		"a value that goes to and fro": {
			turn: func(c *chainOf, i int) *loop { return c.turn("a", "x", fmt.Sprint(i%2)) },
			most: 100, want: cycling, by: 30,
		},
		"a value that is written as it is": {
			turn: func(c *chainOf, _ int) *loop { return c.turn("a", "x", "same") },
			most: 100, want: cycling, by: 30,
		},
		"two rules that set a value to and fro": {
			turn: func(c *chainOf, i int) *loop { return c.turn([]string{"a", "b"}[i%2], "x", fmt.Sprint(i%2)) },
			most: 200, want: cycling, by: 60, // 30 of each
		},
		"twenty parents in a ring": {
			turn: func(c *chainOf, i int) *loop { return c.turn(fmt.Sprint(i%20), fmt.Sprint(i%20), "same") },
			most: 10_000, want: cycling, by: 20 * 30,
		},
		"more parents in a ring than a history knows": {
			turn: func(c *chainOf, i int) *loop { return c.turn(fmt.Sprint(i%40), fmt.Sprint(i%40), "same") },
			most: 20_000, want: counting, by: 40*maxTurns + 40,
		},
		"a round of forty states": {
			turn: func(c *chainOf, i int) *loop { return c.turn("a", "x", fmt.Sprint(i%40)) },
			most: 200, want: cycling, by: 40 + 30,
		},
		"a counter of three digits, each an object": {
			turn: func(c *chainOf, i int) *loop {
				digit, n := 0, i
				for n%10 == 9 {
					digit, n = digit+1, n/10
				}
				return c.turn("a", fmt.Sprint(digit), fmt.Sprint(n%10+1))
			},
			most: 250,
		},
		"an endless counter": {
			turn: func(c *chainOf, i int) *loop { return c.turn("a", "x", fmt.Sprint(i)) },
			most: 10_000, want: counting, by: maxTurns,
		},
		"a state machine of a hundred states": {
			turn: func(c *chainOf, i int) *loop { return c.turn("a", "x", fmt.Sprint(i)) },
			most: 100,
		},
		"a rollout of five thousand": {
			objects: 5_000,
			turn:    func(c *chainOf, i int) *loop { return c.turn("a", fmt.Sprint(i/3), fmt.Sprint(i)) },
			most:    15_000,
		},
		"steps that another rule takes, while the first says the same again and again": {
			turn: func(c *chainOf, i int) *loop {
				if i%2 == 0 {
					return c.turn("a", "x", fmt.Sprint(i/2%2))
				}
				return c.turn("b", "y", fmt.Sprint(i))
			},
			most: 400,
		},
		"a long way to a value that goes to and fro": {
			turn: func(c *chainOf, i int) *loop {
				if i < 200 {
					return c.turn(fmt.Sprint("way", i), fmt.Sprint(i), "made")
				}
				return c.turn([]string{"a", "b"}[i%2], "x", fmt.Sprint(i%2))
			},
			most: 500, want: cycling, by: 260,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newChain(t)
			c.objects = test.objects
			turns, found := c.until(test.most, func(i int) *loop { return test.turn(c, i) })
			got := noLoop
			if found != nil {
				got = found.kind
			}
			if got != test.want || test.by > 0 && turns > test.by {
				t.Errorf("after %d turns it is of kind %d; want kind %d by turn %d", turns, got, test.want, test.by)
			}
		})
	}
}

// Who takes part in a loop that was found with another key is in it, too, and does not
// have to come to it by itself.
func TestLoopIsFoundWithAllItsKeys(t *testing.T) {
	t.Parallel()
	c := newChain(t)
	c.objects = 0
	// b has work for thousands of objects, so a's turns alone are too many.
	in := make(map[string]bool)
	for i := range 2*maxTurns + 10 {
		name := []string{"a", "b"}[i%2]
		c.objects = i % 2 * 1_000
		if c.turn(name, name, fmt.Sprint(i)) != nil {
			in[name] = true
		}
	}
	if !in["a"] || !in["b"] {
		t.Errorf("in the loop are %v", in)
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
			c.turn(fmt.Sprint(i), fmt.Sprint(i), fmt.Sprint(step))
		}
	}
	if n := len(c.causes.progress); n > 0 {
		t.Errorf("%d chains of %d turns are remembered", n, trackedFrom)
	}
	for i := range 100 {
		c.last = nil
		for step := range 10 {
			c.turn(fmt.Sprint(i), fmt.Sprint(i), fmt.Sprint(step))
		}
	}
	if n := len(c.causes.progress); n != 100 {
		t.Fatalf("%d of 100 long chains are remembered", n)
	}
	for range 4 {
		c.now, c.last = c.now.Add(deedLife), nil
		c.turn("other", "other", "x")
	}
	if n := len(c.causes.progress); n > 0 {
		t.Errorf("%d chains are remembered that nothing can continue", n)
	}
	if n := len(c.causes.deeds) + len(c.causes.old); n > 4 {
		t.Errorf("%d writes are remembered", n)
	}
}

// A history stays small, however many keys it went by.
func TestHistoryIsBounded(t *testing.T) {
	t.Parallel()
	c := newChain(t)
	for i := range 1_000 {
		for range 3 {
			c.turn(fmt.Sprint(i), fmt.Sprint(i), "made")
		}
	}
	if turns, steps := len(c.last.turns), len(c.last.steps); turns > maxHistory+1 || steps > maxHistory {
		t.Errorf("it has %d keys and %d steps", turns, steps)
	}
}
