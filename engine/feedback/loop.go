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
	// Long is a chain in which no state comes back, and which has become much longer than the rule's work requires.
	// It may still end.
	Long
	// Repeating is a chain in which states come back. It does not end.
	Repeating
)

// Loop is a chain that does not end, or has not ended for long: what the rules write enqueues the key again and again.
type Loop struct {
	Kind Kind
	// Rounds is how many reconciles the chain had of the key with which the loop was found.
	Rounds int
	// Steps lead from one reconcile of the key to the next.
	Steps []Step
	// members counts the reconciles of all keys in the chain when the loop was detected. A key that has more of them
	// afterwards is in the loop, too.
	members rounds
	backoff pacing.Backoff
	// found is the key with which the loop was found. Other keys join it.
	found queue.Key
}

// kind returns the Kind of a loop, or of none.
func (l *Loop) kind() Kind {
	if l == nil {
		return noLoop
	}
	return l.Kind
}

// hasRule reports whether one of the rules takes part in the loop.
func (l *Loop) hasRule(rules map[string]bool) bool {
	return slices.ContainsFunc(l.members, func(of keyRounds) bool { return rules[of.key.Rule] })
}

// newLoop collects the steps that lead from a key back to itself. found is the key with which the loop was found after so
// many rounds.
func newLoop(k queue.Key, p *Provenance, kind Kind, found queue.Key, rounds int) *Loop {
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
	return &Loop{Kind: kind, Rounds: rounds, Steps: slices.Clone(steps), members: p.rounds, found: found}
}

// pause begins the next pause between two reconciles of a key, of which the chain had so many so far. It is never longer
// than longest. In a loop that repeats, the pause doubles each time. A long chain still makes progress, so its pause only
// grows with its length.
func (l *Loop) pause(now time.Time, k queue.Key, rounds int, longest time.Duration) {
	if l.Kind == Long {
		first := max(l.members.of(k), maxRounds)
		l.backoff = pacing.Backoff{Last: now, Pause: min(longPause*time.Duration(max(rounds, first))/time.Duration(first), longest)}
		return
	}
	l.backoff.Next(now, pacing.Limits{First: firstPause, Max: longest})
}

// Wait returns the rest of the pause between two reconciles.
func (l *Loop) Wait(now time.Time) time.Duration { return l.backoff.Remaining(now) }
