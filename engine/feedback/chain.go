package feedback

import (
	"hash/maphash"
	"slices"
	"time"

	"kanon.dev/kanon/engine/queue"
)

const (
	// maxCauses bounds the known writes that caused one reconcile. Further ones are left out.
	maxCauses = 64
	// firstPause is the first pause of a loop that repeats, or of a conflict.
	firstPause = 10 * time.Second
	// longPause is the first pause of a long chain. When the chain is twice as long as then, so is the pause.
	longPause = time.Second
)

// Chain is what is known of one key, a parent or the target of a patch: what enqueued it since its last reconcile
// began, and the series of reconciles each of which was caused by the previous one. The zero value is ready. A Chain
// has no lock.
type Chain struct {
	// others is true if a change by somebody else enqueued the key. causes are Kanon's own writes that enqueued it.
	others bool
	causes []*Provenance
	// loop is the loop that the key is in; nil if it is in none.
	loop *Loop
	// progress is what the key has written; nil while the chain is short.
	progress *progress
}

// changed records that a change enqueues the key. how is what led to the change; nil if somebody else made it.
func (c *Chain) changed(how *Provenance) {
	switch {
	case c.others:
	case how == nil:
		c.others, c.causes = true, nil
	case len(c.causes) < maxCauses && !slices.Contains(c.causes, how):
		c.causes = append(c.causes, how)
	}
}

// begin begins a reconcile of the key k, whose chain this is, and returns what led to it. If wait is positive, the
// reconcile must be put off for that long, because the key is in a loop; such a pause is never longer than longest. A
// change by somebody else does not wait.
func (c *Chain) begin(k queue.Key, now time.Time, longest time.Duration) (p *Provenance, wait time.Duration) {
	pausing := c.loop != nil && c.loop.Wait(now) > 0
	if pausing && !c.others {
		return nil, c.loop.Wait(now)
	}
	p = merge(k, c.causes)
	c.others, c.causes = false, nil
	switch {
	case pausing:
	case c.loop != nil && p.rounds.of(k) == 0:
		c.loop = nil
	default:
		c.loop = c.findLoop(k, p, now)
		if c.loop != nil {
			c.loop.pause(now, k, p.rounds.of(k), longest)
		}
	}
	if p.rounds.of(k) == 0 {
		c.progress = nil // another chain begins
	}
	p.loop = c.loop
	return p, 0
}

// findLoop returns the loop that a reconcile of the key is part of; nil if there is none. A loop that repeats lasts until
// another chain begins. A long chain may turn out to repeat, or to have more work than was known.
func (c *Chain) findLoop(k queue.Key, p *Provenance, now time.Time) *Loop {
	round := p.rounds.of(k)
	switch {
	case c.loop.kind() == Repeating:
		return c.loop
	case round == 0:
		return nil
	case c.progress == nil:
		return c.loop // too early to tell: the chain is short, or others interrupted a long one during a pause
	}
	kind, found, rounds := c.progress.begin(k, p, now), k, round
	if p.joins.kind() > kind {
		kind, found, rounds = p.joins.Kind, p.joins.found, p.joins.Rounds
	}
	switch {
	case kind == noLoop && c.loop != nil && round < c.loop.members.of(k):
		return c.loop // the change by somebody else during a pause only seems to begin another chain
	case kind == noLoop:
		return nil
	case c.loop.kind() != kind:
		return newLoop(k, p, kind, found, rounds)
	default:
		same := *c.loop
		same.found = found
		return &same
	}
}

// carryOn records that other keys will write what a reconcile of the key, with that provenance, asks for.
func (c *Chain) carryOn(k queue.Key, p *Provenance, now time.Time) {
	if !p.IsLong(k) {
		return
	}
	if c.progress == nil {
		c.progress = &progress{contents: make(map[uint64]uint64), states: make(map[uint64]struct{})}
	}
	c.progress.active = now
}

// wrote records that a reconcile of the key wrote an object, whose state has the given digest.
func (c *Chain) wrote(seed maphash.Seed, write *ownWrite, digest uint64, now time.Time) {
	if !write.cause.IsLong(write.key) {
		return
	}
	c.carryOn(write.key, write.cause, now)
	c.progress.children = max(c.progress.children, write.children)
	if c.progress.put(seed, maphash.Comparable(seed, write.object), digest) {
		write.effect.newStates.Store(write.cause.newStates.Load() + 1)
	}
}

// restart ends the chain and the loop of a key if one of these rules, which have changed, takes part in it. It reports
// whether the key was in a loop and so must be reconciled.
func (c *Chain) restart(k queue.Key, rules map[string]bool) (looped bool) {
	if !rules[k.Rule] && (c.loop == nil || !c.loop.hasRule(rules)) {
		return false
	}
	looped = c.loop != nil
	if looped {
		c.changed(nil)
	}
	c.loop, c.progress = nil, nil
	return looped
}

// expire drops what was written in a chain that has ended: writes does not remember anything older that could continue
// the chain.
func (c *Chain) expire(now time.Time) {
	if c.loop == nil && c.progress != nil && now.Sub(c.progress.active) > 2*writeLife {
		c.progress = nil
	}
}

// IsEmpty reports whether nothing is known of the key.
func (c *Chain) IsEmpty() bool {
	return !c.others && len(c.causes) == 0 && c.loop == nil && c.progress == nil
}
