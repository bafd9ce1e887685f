package feedback

import (
	"slices"
	"time"

	"kanon.dev/kanon/engine/queue"
)

// A chain is a series of reconciles, each caused by what the previous one wrote and by nothing else. A rollout is a
// chain, and so is a state machine: these end. Two rules that set a value back and forth make one that does not. A chain
// that is much longer than the rule's work requires counts as a loop: it goes on, but with growing pauses.

const (
	// maxRounds is how many reconciles of a key a chain may have without pauses, plus roundsPerChild for each object that
	// the rule has for the parent. A rollout takes two or three for an object: to delete it, to create it, and to report
	// that.
	maxRounds      = 200
	roundsPerChild = 10
	// loopPause is the first pause of a loop. It doubles after every roundsPerPause reconciles.
	loopPause      = time.Second
	roundsPerPause = 10
	// maxCauses bounds the known writes that caused one reconcile. Further ones are left out.
	maxCauses = 64
	// maxSteps bounds the steps of a provenance. A loop of more keys than that is not noticed.
	maxSteps = 64
)

// Step is one reconcile and what it wrote.
type Step struct {
	Key   queue.Key
	Wrote string
}

// Provenance is what led to a write or a reconcile, as far as only Kanon's own writes caused it. It is empty if somebody
// else was involved.
type Provenance struct {
	// steps are the newest reconciles that led here, the newest last, each key once. cycle is how many of them were made
	// since the last key's reconcile before; zero if there was none.
	steps []Step
	cycle int
	// loop is set if the reconcile is part of a loop.
	loop *Loop
}

// Loop returns the loop that this reconcile is part of; nil if there is none.
func (p *Provenance) Loop() *Loop { return p.loop }

// since returns the steps from the last reconcile of a key on; none if the key is not among them.
func (p *Provenance) since(k queue.Key) []Step {
	if i := slices.IndexFunc(p.steps, func(s Step) bool { return s.Key == k }); i >= 0 {
		return p.steps[i:]
	}
	return nil
}

// loopSteps returns the steps from one reconcile of a key to the next. If the key's own write has led to the reconcile,
// these are the steps between that write and the one before: steps through other keys say more.
func (p *Provenance) loopSteps(k queue.Key) []Step {
	steps := p.since(k)
	if len(steps) != 1 || p.cycle < 2 {
		return slices.Clone(steps)
	}
	last := len(p.steps) - 1
	return append(slices.Clone(steps), p.steps[len(p.steps)-min(p.cycle, len(p.steps)):last]...)
}

// then returns the provenance of what follows from a write by a reconcile of a key.
func (p *Provenance) then(k queue.Key, wrote string) *Provenance {
	next := &Provenance{cycle: len(p.since(k))}
	for _, step := range p.steps[max(0, len(p.steps)-maxSteps+1):] {
		if step.Key != k {
			next.steps = append(next.steps, step)
		}
	}
	next.steps = append(next.steps, Step{Key: k, Wrote: wrote})
	return next
}

// merge returns the provenance of a reconcile of a key that several writes caused.
func merge(k queue.Key, causes []*Provenance) *Provenance {
	p := &Provenance{}
	for _, cause := range causes {
		if len(cause.since(k)) > len(p.since(k)) || len(p.steps) == 0 { // steps through other keys say more
			p.steps, p.cycle = cause.steps, cause.cycle
		}
	}
	return p
}

// Loop is a chain that has not ended for long: what the rules write enqueues the key again and again.
type Loop struct {
	// Rounds is how many reconciles of the key the chain had when the loop was found.
	Rounds int
	// Steps lead from one reconcile of the key to the next.
	Steps   []Step
	backoff queue.Backoff
}

// Wait returns the rest of the pause between two reconciles.
func (l *Loop) Wait(now time.Time) time.Duration { return l.backoff.Remaining(now) }

// pause begins the next pause between two reconciles, of which the chain had so many so far.
func (l *Loop) pause(now time.Time, rounds int, longest time.Duration) {
	l.backoff = queue.NewBackoff(1+(rounds-l.Rounds)/roundsPerPause, now, queue.Limits{First: loopPause, Max: longest})
}

// Chain is what is known of one key, a parent or the target of a patch: what enqueued it since its last reconcile
// began, and how often in a row its own writes led back to it. The zero value is ready. A Chain has no lock.
type Chain struct {
	// others is true if a change by somebody else enqueued the key. causes are Kanon's own writes that enqueued it.
	others bool
	causes []*Provenance
	// loop is the loop that the key is in; nil if it is in none.
	loop *Loop
	// rounds counts the reconciles in a row to which the key's own writes led, and children is how many objects the rule
	// has for the parent. active is when the chain last continued.
	rounds, children int
	active           time.Time
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
// change by somebody else does not wait, and ends no loop before the pause is over: what rules write may still go on.
func (c *Chain) begin(k queue.Key, now time.Time, longest time.Duration) (p *Provenance, wait time.Duration) {
	pausing := c.loop != nil && c.loop.Wait(now) > 0
	if pausing && !c.others {
		return nil, c.loop.Wait(now)
	}
	p = merge(k, c.causes)
	switch {
	case pausing:
	case c.others:
		c.end()
	case c.loop != nil && len(p.since(k)) == 0:
		// During the whole pause, no own write led back to the key. It may have come to rest, or another key of the loop pauses.
		c.rounds, c.loop = max(0, c.loop.Rounds-roundsPerPause), nil
	case len(p.since(k)) == 0:
	default:
		c.advance(k, p, now, longest)
	}
	c.others, c.causes = false, nil
	p.loop = c.loop
	return p, 0
}

// advance begins a reconcile of the key to which its own writes led, and finds out whether it is part of a loop. A loop
// may turn out to have more work than was known.
func (c *Chain) advance(k queue.Key, p *Provenance, now time.Time, longest time.Duration) {
	c.rounds, c.active = c.rounds+1, now
	if c.rounds < maxRounds+roundsPerChild*c.children {
		c.loop = nil
		return
	}
	if c.loop == nil {
		c.loop = &Loop{Rounds: c.rounds, Steps: p.loopSteps(k)}
	}
	c.loop.pause(now, c.rounds, longest)
}

// wrote records that a reconcile of the key wrote an object of a rule that has so many for the parent.
func (c *Chain) wrote(children int, now time.Time) {
	if c.rounds > 0 {
		c.active, c.children = now, max(c.children, children)
	}
}

// end ends the chain.
func (c *Chain) end() { c.loop, c.rounds, c.children, c.active = nil, 0, 0, time.Time{} }

// restart ends the chain and the loop of a key if one of these rules, which have changed, takes part in it. It reports
// whether the key was in a loop and so must be reconciled.
func (c *Chain) restart(k queue.Key, rules map[string]bool) (looped bool) {
	looped = c.loop != nil
	if !rules[k.Rule] && (!looped || !slices.ContainsFunc(c.loop.Steps, func(s Step) bool { return rules[s.Key.Rule] })) {
		return false
	}
	if looped {
		c.changed(nil)
	}
	c.end()
	return looped
}

// expire forgets a chain that has ended: no write that could continue it is remembered any more.
func (c *Chain) expire(now time.Time) {
	if c.loop == nil && now.Sub(c.active) > 2*writeLife {
		c.end()
	}
}

// IsEmpty reports whether nothing is known of the key.
func (c *Chain) IsEmpty() bool {
	return !c.others && len(c.causes) == 0 && c.loop == nil && c.rounds == 0
}
