package feedback

import (
	"fmt"
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

// round is one reconcile of a key that the last write caused, and that writes content to an object. It gives the loop that the
// key is in.
func (c *chainOf) round(name, object, content string) *Loop {
	c.t.Helper()
	k := chainKey(name)
	chain := c.chains[k]
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
			most:  20_000, want: Endless, by: 40*maxRounds + 40,
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
			most:  10_000, want: Endless, by: maxRounds,
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

// Who takes part in a loop that was found with another key is in it, too, and does not
// have to come to it by itself.
func TestLoopIsFoundWithAllItsKeys(t *testing.T) {
	t.Parallel()
	c := newChain(t)
	c.children = 0
	// b has work for thousands of objects, so a's rounds alone are too many.
	in := make(map[string]bool)
	for i := range 2*maxRounds + 10 {
		name := []string{"a", "b"}[i%2]
		c.children = i % 2 * 1_000
		if c.round(name, name, fmt.Sprint(i)) != nil {
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
