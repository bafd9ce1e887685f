package feedback

import (
	"slices"
	"time"

	"kanon.dev/kanon/engine/pacing"
	"kanon.dev/kanon/engine/queue"
)

// Kind says how a chain goes wrong.
type Kind int

const (
	noLoop Kind = iota
	// Repeating is a chain in which states come back.
	Repeating
	// Endless is a chain that goes on for too long, although no state comes back.
	Endless
)

// Loop is a chain that does not end: what the rules write enqueues the key again and again.
type Loop struct {
	Kind Kind
	// Rounds is how many reconciles of the key the chain had when the loop was detected.
	Rounds int
	// Steps lead from one reconcile of the key to the next.
	Steps []Step
	// members counts the reconciles of all keys in the chain when the loop was detected. A key that has more of them
	// afterwards is in the loop, too.
	members rounds
	backoff pacing.Backoff
}

// hasRule reports whether one of the rules takes part in the loop.
func (l *Loop) hasRule(rules map[string]bool) bool {
	return slices.ContainsFunc(l.members, func(of keyRounds) bool { return rules[of.key.Rule] })
}

// newLoop collects the steps that lead from a key back to itself.
func newLoop(k queue.Key, p *Provenance, kind Kind) *Loop {
	steps := p.steps
	if last := len(steps) - 1; last > 0 && steps[last].Key == k {
		steps = steps[:last] // what enqueued the key is its own write, which may follow from the writes of others
	}
	for i, step := range slices.Backward(steps) {
		if step.Key == k {
			steps = steps[i:]
			break
		}
	}
	return &Loop{Kind: kind, Rounds: p.rounds.of(k), Steps: slices.Clone(steps), members: p.rounds}
}

// pause begins the next pause between two reconciles.
func (l *Loop) pause(now time.Time, longest time.Duration) {
	l.backoff.Next(now, pacing.Limits{First: firstPause, Max: longest})
}

// Wait returns the rest of the pause between two reconciles.
func (l *Loop) Wait(now time.Time) time.Duration { return l.backoff.Remaining(now) }
