package feedback

import (
	"cmp"
	"slices"
	"sync/atomic"

	"kanon.dev/kanon/engine/queue"
)

// maxKeys bounds how many keys a provenance has, and how many of its steps.
const maxKeys = 32

// Provenance is how a write, or a reconcile, came about: by which reconciles, as far as nothing but Kanon's own writes caused
// them. It is empty where somebody else had to do with it. It is safe for concurrent use.
type Provenance struct {
	// rounds counts the reconciles of each key, the latest key at the end.
	rounds rounds
	// steps are the newest of the reconciles, the newest at the end.
	steps []Step
	// newStates counts the writes that brought an object into a state in which it was not before. It may still grow by the
	// write of which this is the effect.
	newStates atomic.Int32
	// loop is not nil where the reconcile that writes is one of a loop, and joins says of which kind that loop is where the
	// key whose reconcile follows from the write is in it, too.
	loop  *Loop
	joins Kind
}

// Step is one reconcile, and what it wrote.
type Step struct {
	Key   queue.Key
	Wrote string
}

// rounds counts reconciles by key; most have one key.
type rounds []keyRounds

type keyRounds struct {
	key   queue.Key
	count int
}

// of is how many reconciles of a key there were.
func (r rounds) of(k queue.Key) int {
	for _, one := range r {
		if one.key == k {
			return one.count
		}
	}
	return 0
}

// raise makes the reconciles of a key at least so many.
func (r *rounds) raise(k queue.Key, count int) {
	for i, one := range *r {
		if one.key == k {
			(*r)[i].count = max(one.count, count)
			return
		}
	}
	*r = append(*r, keyRounds{k, count})
}

// Loop is the loop that the reconcile of this provenance is one of; nil where there is none.
func (p *Provenance) Loop() *Loop { return p.loop }

// IsLong tells whether a chain has brought a key back so often that the states of the objects that the key writes are to be
// known; see writes.done.
func (p *Provenance) IsLong(k queue.Key) bool { return p.rounds.of(k) >= trackedFrom }

// then is the provenance of what follows from something that a reconcile of a key writes.
func (p *Provenance) then(k queue.Key, wrote string) *Provenance {
	count := p.rounds.of(k)
	next := &Provenance{rounds: make(rounds, 0, len(p.rounds)+1), loop: p.loop}
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
		next.newStates.Add(1) // what a key writes first was not there before
	}
	return next
}

// merge is the provenance of a reconcile of a key that several writes caused.
func merge(k queue.Key, causes []*Provenance) *Provenance {
	p := &Provenance{}
	for _, cause := range causes {
		for _, one := range cause.rounds {
			p.rounds.raise(one.key, one.count)
		}
		if len(p.steps) == 0 || cause.rounds.of(k) > 0 && cause.steps[len(cause.steps)-1].Key != k {
			p.steps = cause.steps // a way by other keys says more
		}
		p.newStates.Store(max(p.newStates.Load(), cause.newStates.Load()))
		if cause.loop != nil && cause.rounds.of(k) > cause.loop.members.of(k) {
			p.joins = max(p.joins, cause.loop.Kind)
		}
	}
	p.trim(k)
	return p
}

// trim leaves out keys of a long provenance. A loop of few keys is made of those that came last, and one of many shows in those
// with the most reconciles; of several with as many, the first stay.
func (p *Provenance) trim(k queue.Key) {
	if len(p.rounds) <= maxKeys {
		return
	}
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
