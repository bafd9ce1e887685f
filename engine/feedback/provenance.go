package feedback

import (
	"cmp"
	"slices"
	"sync/atomic"

	"kanon.dev/kanon/engine/queue"
)

// maxKeys bounds the keys and the steps of a provenance.
const maxKeys = 32

// Provenance is the series of reconciles that led to a write or a reconcile, as far as only Kanon's own writes caused
// them. It is empty if somebody else was involved. It is safe for concurrent use.
type Provenance struct {
	// rounds counts the reconciles of each key, the latest key last.
	rounds rounds
	// trimmed is true if some keys were left out.
	trimmed bool
	// steps are the newest of the reconciles, the newest last.
	steps []Step
	// newStates counts the writes that brought an object into a new state. It may still grow by the write whose effect
	// this is.
	newStates atomic.Int32
	// loop is set if the writing reconcile is part of a loop. joins is that loop if it was found with another key, and
	// the key whose reconcile follows from the write is in it, too.
	loop, joins *Loop
}

// Step is one reconcile and what it wrote.
type Step struct {
	Key   queue.Key
	Wrote string
}

// rounds counts reconciles by key. Most have one key.
type rounds []keyRounds

type keyRounds struct {
	key   queue.Key
	count int
}

// of returns how many reconciles of a key there were.
func (r rounds) of(k queue.Key) int {
	for _, one := range r {
		if one.key == k {
			return one.count
		}
	}
	return 0
}

// raise raises the count of a key to at least count.
func (r *rounds) raise(k queue.Key, count int) {
	for i, one := range *r {
		if one.key == k {
			(*r)[i].count = max(one.count, count)
			return
		}
	}
	*r = append(*r, keyRounds{k, count})
}

// Loop returns the loop that this reconcile is part of; nil if there is none.
func (p *Provenance) Loop() *Loop { return p.loop }

// IsLong reports whether a chain has come back to a key so often that the states of the objects that the key writes
// must be tracked; see writes.done.
func (p *Provenance) IsLong(k queue.Key) bool { return p.rounds.of(k) >= trackedFrom }

// then returns the provenance of what follows from a write by a reconcile of a key.
func (p *Provenance) then(k queue.Key, wrote string) *Provenance {
	count := p.rounds.of(k)
	next := &Provenance{rounds: make(rounds, 0, len(p.rounds)+1), loop: p.loop, trimmed: p.trimmed}
	for _, one := range p.rounds {
		if one.key != k {
			next.rounds = append(next.rounds, one)
		}
	}
	next.rounds.raise(k, count+1)
	steps := p.steps[max(0, len(p.steps)-maxKeys+1):]
	next.steps = append(append(make([]Step, 0, len(steps)+1), steps...), Step{Key: k, Wrote: wrote})
	next.newStates.Store(p.newStates.Load())
	if count < trackedFrom {
		next.newStates.Add(1) // the first writes of a key bring new states
	}
	return next
}

// merge returns the provenance of a reconcile of a key that several writes caused.
func merge(k queue.Key, causes []*Provenance) *Provenance {
	p := &Provenance{}
	for _, cause := range causes {
		for _, one := range cause.rounds {
			p.rounds.raise(one.key, one.count)
		}
		if len(p.steps) == 0 || cause.rounds.of(k) > 0 && cause.steps[len(cause.steps)-1].Key != k {
			p.steps = cause.steps // steps through other keys say more
		}
		p.trimmed = p.trimmed || cause.trimmed
		p.newStates.Store(max(p.newStates.Load(), cause.newStates.Load()))
		if l := cause.loop; l.kind() > p.joins.kind() && l.found != k && cause.rounds.of(k) > l.members.of(k) {
			p.joins = l
		}
	}
	p.trim(k)
	return p
}

// trim drops keys from a long provenance. It keeps the key itself, the latest keys, because those of a loop of few keys
// come last, and the keys with the most reconciles, because a loop of many keys shows in those. Among equal counts the
// earliest stay.
func (p *Provenance) trim(k queue.Key) {
	if len(p.rounds) <= maxKeys {
		return
	}
	p.trimmed = true
	last := len(p.rounds) - maxKeys/2
	most := slices.Clone(p.rounds[:last])
	slices.SortStableFunc(most, func(a, b keyRounds) int {
		switch k {
		case a.key:
			return -1
		case b.key:
			return 1
		}
		return cmp.Compare(b.count, a.count)
	})
	least := make(map[queue.Key]bool)
	for _, one := range most[maxKeys/2:] {
		least[one.key] = true
	}
	p.rounds = slices.DeleteFunc(p.rounds, func(one keyRounds) bool { return least[one.key] })
}
