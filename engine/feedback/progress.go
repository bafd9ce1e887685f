package feedback

import (
	"hash/maphash"
	"time"

	"kanon.dev/kanon/engine/queue"
)

// A chain is a series of reconciles, each caused by what the previous one wrote and by nothing else. A rollout is a
// chain, and so is a state machine: these end. Two rules that set a value back and forth make one that does not. What
// distinguishes them is the state of the written objects: in a chain that makes progress, each reconcile brings the
// objects into a new state.
//
// A counter brings a new state with every reconcile and never ends. While it counts, nothing distinguishes it from a
// state machine with many states. So a chain that is much longer than the rule's work requires goes on, but with pauses.

const (
	// maxIdleRounds is how many reconciles of a key in a chain may write only earlier states. Reconciles that write
	// nothing do not count.
	maxIdleRounds = 20
	// maxRounds is how many reconciles of a key a chain may have without pauses, plus roundsPerChild for each object that
	// the rule has for the parent. A rollout takes two or three for an object: to delete it, to create it, and to report
	// that.
	maxRounds      = 300
	roundsPerChild = 10
	// trackedFrom is the first round of which states are remembered. Most chains end before, and cost nothing.
	trackedFrom = 2
	// maxStates is how many states of a key are remembered at least. A chain that comes back only after twice as many, or
	// more, is taken for one that makes progress.
	maxStates = 50_000
)

// progress is what one key has written in a chain.
type progress struct {
	// contents has the digest of the last write of each object, and state combines all of them. Objects are keyed by
	// their hashes.
	contents map[uint64]uint64
	state    uint64
	// states are the states so far. If there are many, the older ones are in earlier, and are dropped together.
	states, earlier map[uint64]struct{}
	// advanced is true if a state was new since the last reconcile began. own is the round of the reconcile that followed
	// the last new state.
	advanced bool
	own      int
	// known is how many new states of all keys in the chain the last reconcile knew of. since is the round of the key
	// at which that number last grew.
	known int32
	since int
	// children is how many objects the rule has for the parent.
	children int
	// active is when the chain last continued.
	active time.Time
}

// put records the write of an object, and reports whether the state is new. Each object contributes a hash of itself
// and its digest to the state.
func (p *progress) put(seed maphash.Seed, object, digest uint64) (isNew bool) {
	if before, ok := p.contents[object]; ok {
		p.state ^= maphash.Comparable(seed, [2]uint64{object, before})
	}
	p.contents[object] = digest
	p.state ^= maphash.Comparable(seed, [2]uint64{object, digest})
	for _, states := range []map[uint64]struct{}{p.states, p.earlier} {
		if _, known := states[p.state]; known {
			return false
		}
	}
	if len(p.states) >= maxStates {
		p.states, p.earlier = make(map[uint64]struct{}), p.states
	}
	p.states[p.state] = struct{}{}
	p.advanced = true
	return true
}

// begin records the start of a reconcile of the key, and returns the kind of loop that its rounds show.
func (p *progress) begin(k queue.Key, how *Provenance, now time.Time) Kind {
	round, known := how.rounds.of(k), how.newStates.Load()
	if p.advanced {
		p.own = round
	}
	if p.advanced || known > p.known {
		p.since = round
	}
	p.advanced, p.known, p.active = false, max(p.known, known), now
	switch {
	case round-p.since >= maxIdleRounds:
		return Repeating
	case round < maxRounds+roundsPerChild*p.children:
		return noLoop
	case how.trimmed && p.own > 0 && round-p.own >= maxIdleRounds:
		// The keys that were left out bring a new state each time that they come back. So the key's own states decide, if
		// it writes anything itself.
		return Repeating
	default:
		return Long
	}
}
