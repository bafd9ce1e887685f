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
	t       *testing.T
	tracker *Tracker
	chains  chainMap
	now     time.Time
	// last is what the last write leads to.
	last *Provenance
	// children is how many objects the rule has for each parent.
	children int
}

// chainMap stores chains, and drops those of which nothing is known.
type chainMap map[queue.Key]*Chain

func (m chainMap) UpdateChain(k queue.Key, change func(*Chain)) {
	chain := m[k]
	if chain == nil {
		chain = &Chain{}
		m[k] = chain
	}
	if change(chain); chain.IsEmpty() {
		delete(m, k)
	}
}

func (m chainMap) UpdateChains(change func(queue.Key, *Chain)) {
	for k := range m {
		m.UpdateChain(k, func(chain *Chain) { change(k, chain) })
	}
}

func newChain(t *testing.T) *chainOf {
	t.Helper()
	c := &chainOf{t: t, chains: make(chainMap), now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	c.tracker = NewTracker(c.chains, func() time.Time { return c.now })
	return c
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
func (c *chainOf) begin(k queue.Key) *Provenance {
	if c.last != nil {
		c.tracker.Caused(k, c.last)
	}
	c.now = c.now.Add(time.Millisecond)
	how, wait := c.tracker.Begin(k, c.now, time.Minute)
	for ; wait > 0; how, wait = c.tracker.Begin(k, c.now, time.Minute) {
		c.now = c.now.Add(wait)
	}
	return how
}

// handOver is one reconcile of a key that writes nothing itself, and has the next key write. It returns the loop that
// the key is in.
func (c *chainOf) handOver(name string) *Loop {
	how := c.begin(chainKey(name))
	c.last = how.then(chainKey(name), "its part")
	return how.Loop()
}

// round is one reconcile of a key that the last write caused, and that writes content to an object. It returns the loop
// that the key is in.
func (c *chainOf) round(name, object, content string) *Loop {
	c.t.Helper()
	k, obj := chainKey(name), configMap(object, content)
	how := c.begin(k)
	defer c.tracker.BeginWrite(k, identity.Of(obj), object, how, c.children)()
	c.last = c.tracker.Wrote(k, identity.Of(obj), Version{UID: types.UID(object), Resource: c.now.String()})
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

// A chain is a loop when it is much longer than what the rule has to do.
func TestChains(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		children int
		round    func(c *chainOf, i int) *Loop
		most     int
		// by is the last round at which it is to be found; zero if it is no loop.
		by int
	}{
		"a value that goes to and fro": {
			round: func(c *chainOf, i int) *Loop { return c.round("a", "x", fmt.Sprint(i%2)) },
			most:  2 * maxRounds, by: maxRounds,
		},
		"two rules that set a value to and fro": {
			round: func(c *chainOf, i int) *Loop { return c.round([]string{"a", "b"}[i%2], "x", fmt.Sprint(i%2)) },
			most:  4 * maxRounds, by: 2*maxRounds + 10,
		},
		"forty parents in a ring": {
			round: func(c *chainOf, i int) *Loop { return c.round(fmt.Sprint(i%40), fmt.Sprint(i%40), "same") },
			most:  20_000, by: 40*maxRounds + 50,
		},
		"a parent with a part in forty targets, which count": {
			round: func(c *chainOf, i int) *Loop {
				if i%2 == 0 {
					return c.handOver("parent")
				}
				target := fmt.Sprint("target", i/2%40)
				return c.round(target, target, fmt.Sprint(i))
			},
			most: 1_000, by: 2*maxRounds + 10,
		},
		"an endless counter": {
			round: func(c *chainOf, i int) *Loop { return c.round("a", "x", fmt.Sprint(i)) },
			most:  10_000, by: maxRounds,
		},
		"a state machine of many states": {
			round: func(c *chainOf, i int) *Loop { return c.round("a", "x", fmt.Sprint(i)) },
			most:  maxRounds - 1,
		},
		"a rollout of five thousand": {
			children: 5_000,
			round:    func(c *chainOf, i int) *Loop { return c.round("a", fmt.Sprint(i/3), fmt.Sprint(i)) },
			most:     15_000,
		},
		"a long way to a value that goes to and fro": {
			round: func(c *chainOf, i int) *Loop {
				if i < 200 {
					return c.round(fmt.Sprint("way", i), fmt.Sprint(i), "made")
				}
				return c.round([]string{"a", "b"}[i%2], "x", fmt.Sprint(i%2))
			},
			most: 4 * maxRounds, by: 200 + 2*maxRounds + 10,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newChain(t)
			c.children = test.children
			rounds, found := c.until(test.most, func(i int) *Loop { return test.round(c, i) })
			if (found != nil) != (test.by > 0) || found != nil && rounds > test.by {
				t.Errorf("after %d rounds it is a loop: %t; want one by round %d", rounds, found != nil, test.by)
			}
		})
	}
}

// The pause of a loop doubles after some rounds, up to the longest.
func TestPausesOfALoop(t *testing.T) {
	t.Parallel()
	c := newChain(t)
	at := make(map[int]time.Time)
	for i := range maxRounds + 10*roundsPerPause {
		at[i] = c.now
		if loop := c.round("a", "x", fmt.Sprint(i)); (loop != nil) != (i >= maxRounds) {
			t.Fatalf("round %d is in the loop %+v", i, loop)
		}
	}
	for doubled, want := range []time.Duration{loopPause, 2 * loopPause, 4 * loopPause} {
		from := maxRounds + 2 + doubled*roundsPerPause
		if got := at[from+5].Sub(at[from]) / 5; got < want || got > want*11/10 {
			t.Errorf("from round %d on, it waits %s; want %s", from, got, want)
		}
	}
	if got := at[maxRounds+9*roundsPerPause+1].Sub(at[maxRounds+9*roundsPerPause]); got > time.Minute+time.Second {
		t.Errorf("in the end it waits %s, want a minute", got)
	}
}

// A loop in which another key pauses, so that nothing leads back for a while, is found again after a few rounds, and one that
// has come to rest is over.
func TestLoopWithAPauseElsewhere(t *testing.T) {
	t.Parallel()
	c := newChain(t)
	c.until(2*maxRounds, func(i int) *Loop { return c.round("a", "x", fmt.Sprint(i)) })
	before := c.last
	c.last = nil // nothing leads back during the pause
	if loop := c.begin(chainKey("a")).Loop(); loop != nil {
		t.Errorf("it is still in the loop %+v", loop)
	}
	c.last = before
	if rounds, loop := c.until(maxRounds, func(i int) *Loop { return c.round("a", "x", fmt.Sprint("again", i)) }); loop == nil || rounds > roundsPerPause {
		t.Errorf("after %d rounds it is in the loop %+v", rounds, loop)
	}
}

// When a loop turns out to have more work, it does not wait any more.
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

// A change by somebody else during a pause does not wait, and does not end the pauses: what rules write still goes on.
// When the chain comes to rest, the next change finds no loop.
func TestLoopAndChangesByOthers(t *testing.T) {
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
		c.tracker.Caused(chainKey("a"), nil)
		if next(); c.now.Sub(before) >= loopPause {
			t.Errorf("the change by somebody else waited for %s", c.now.Sub(before))
		}
		for range 5 {
			before = c.now
			if loop := next(); loop == nil || c.now.Sub(before) < loopPause*9/10 {
				t.Fatalf("after a change by somebody else, the loop is %+v after %s", loop, c.now.Sub(before))
			}
		}
	}
	c.now, c.last = c.now.Add(time.Minute), nil
	c.tracker.Caused(chainKey("a"), nil)
	if loop := next(); loop != nil {
		t.Errorf("after a rest, the loop is %+v", loop)
	}
}

// Chains that are short, as by far most are, are not remembered, and long ones no longer
// than what is known of writes.
func TestShortChainsCostNothing(t *testing.T) {
	t.Parallel()
	c := newChain(t)
	for i := range 20_000 {
		c.last = nil
		c.round(fmt.Sprint(i), fmt.Sprint(i), "made")
	}
	if n := len(c.chains); n > 0 {
		t.Errorf("%d chains of one round are remembered", n)
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
	if n := len(c.tracker.written) + len(c.tracker.before); n > 4 {
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
	if steps := len(c.last.steps); steps > maxSteps {
		t.Errorf("it has %d steps", steps)
	}
}
