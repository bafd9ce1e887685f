package feedback

import (
	"hash/maphash"
	"time"

	"kanon.dev/kanon/engine/queue"
)

// A chain is a row of reconciles of which each was caused by what the one before wrote, and by nothing else. A rollout is one,
// and so is a state machine: these end. Two rules that set a value to and fro are one that does not. What tells them apart is the
// state of what is written: in a chain that makes progress, each reconcile brings the objects into a state in which they were not
// before.
//
// A counter brings a new state with every reconcile and never ends. So a chain that is much longer than what the rule has to do
// counts as a loop, too.

const (
	// maxIdleRounds is how many reconciles of a key in a chain may write nothing but what brings back states that were there
	// before. Those that write nothing do not count.
	maxIdleRounds = 20
	// maxRounds is how many reconciles of a key a chain may have at all, and roundsPerChild how many more for each object that
	// the rule has for the parent. A rollout takes two or three for an object: to delete it, to create it, and to report that.
	maxRounds      = 300
	roundsPerChild = 10
	// trackedFrom is the round from which on states are remembered. Most chains end before, and cost nothing.
	trackedFrom = 2
)

// progress is what one key has written in a chain.
type progress struct {
	// contents has the digest that each object was written with last, and state is all of them in one. Objects are hashes.
	contents map[uint64]uint64
	state    uint64
	// states are those that there were.
	states map[uint64]struct{}
	// advanced is true when a state was new since the last reconcile began.
	advanced bool
	// known is how many new states the last reconcile knew of, of all keys in the chain, and since the round of the key at which
	// there were more than before.
	known int32
	since int
	// children is how many objects the rule has for the parent.
	children int
	// active is when the chain went on last.
	active time.Time
}

func newProgress() *progress {
	return &progress{contents: make(map[uint64]uint64), states: make(map[uint64]struct{})}
}

// put takes in that an object was written, and tells whether that is a new state. Each object's part of the state is a hash of
// the object and its digest.
func (p *progress) put(seed maphash.Seed, object, digest uint64) (isNew bool) {
	if before, ok := p.contents[object]; ok {
		p.state ^= maphash.Comparable(seed, [2]uint64{object, before})
	}
	p.contents[object] = digest
	p.state ^= maphash.Comparable(seed, [2]uint64{object, digest})
	if _, known := p.states[p.state]; known {
		return false
	}
	p.states[p.state] = struct{}{}
	p.advanced = true
	return true
}

// begin takes in that a reconcile of the key begins, and tells whether what led to it is a loop.
func (p *progress) begin(k queue.Key, how *Provenance, now time.Time) Kind {
	round, known := how.rounds.of(k), how.newStates.Load()
	if p.advanced || known > p.known {
		p.since = round
	}
	p.advanced, p.known, p.active = false, max(p.known, known), now
	switch {
	case round-p.since >= maxIdleRounds:
		return Repeating
	case round >= maxRounds+roundsPerChild*p.children:
		return Endless
	default:
		return how.joins // a loop that was found with another key
	}
}
