package engine

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"kanon.dev/kanon/engine/apply"
	"kanon.dev/kanon/engine/conditions"
	"kanon.dev/kanon/engine/queue"
)

// maxGenerations is how many objects may descend from one another by the same rule.
const maxGenerations = 16

// loop is what a rule and a parent are in whose own writes, by way of others or
// not, are what always wakes them again.
type loop struct {
	// kind says what is wrong with it, turns how many passes of the key there were when
	// that was found, and found what led to it. Who has had more of them when the key
	// writes after that is in the loop, too.
	kind  loopKind
	turns int
	found *history
	// chain are the steps from one pass of the key to the next.
	chain []step
	// retreat is the pause between two passes.
	retreat retreat
}

// newLoop finds the chain that leads from a key back to itself.
func newLoop(k queue.Key, how *history, kind loopKind) *loop {
	chain := how.steps
	if last := len(chain) - 1; last > 0 && chain[last].key == k {
		chain = chain[:last] // woken by what it wrote itself, which can be by way of others
	}
	for i, s := range slices.Backward(chain) {
		if s.key == k {
			chain = chain[i:]
			break
		}
	}
	return &loop{kind: kind, turns: how.of(k), found: &history{turns: how.turns}, chain: slices.Clone(chain)}
}

// problem says that the pass is one of a loop.
func (l *loop) problem(nameOf func(rule string) string) conditions.Problem {
	text := make([]string, 0, len(l.chain)+1)
	for _, s := range l.chain {
		text = append(text, fmt.Sprintf("rule %s for %s writes %s", nameOf(s.key.Rule), s.key.Parent, s.wrote))
	}
	if len(l.chain) > 0 {
		text = append(text, fmt.Sprintf("rule %s for %s", nameOf(l.chain[0].key.Rule), l.chain[0].key.Parent))
	}
	why := fmt.Sprintf("each of the last %d changes was caused by the one before, and by nothing else", l.turns)
	if l.kind == cycling {
		why = "each change is caused by the one before, and by nothing else, and brings back what was there before"
	}
	return conditions.Problem{
		Subject: "loop", Reason: conditions.ReasonLoop, Stalled: true,
		Err: fmt.Errorf("it never comes to rest: %s (%s); "+
			"it goes on with growing pauses, until one of these rules does not depend on what it writes", why, strings.Join(text, " → ")),
	}
}

// rejoin notes that the pass is part of a loop, and has the key come back when the
// pause is over.
func (p *pass) rejoin(now time.Time) {
	if p.loop == nil {
		return
	}
	p.problems = append(p.problems, p.loop.problem(p.nameOf))
	p.requeueAfter(p.loop.retreat.rest(now) + time.Millisecond)
}

// ancestry follows the owners of a parent that is a child itself, up to the same rule's
// maxGenerations-th forebear, and tells by whom each was made.
func (p *pass) ancestry() (generations int, chain []string) {
	running := p.running.load()
	seen := make(map[types.UID]bool)
	for obj := p.parent; obj != nil && !seen[obj.GetUID()] && generations < maxGenerations; {
		seen[obj.GetUID()] = true
		owner, ok := p.marks.OwnerOf(obj)
		op := running.byID[owner.RuleID]
		if !ok || op == nil {
			break
		}
		if owner.RuleID == p.op.id {
			generations++
		}
		chain = append(chain, fmt.Sprintf("%s by rule %s", apply.RefOf(obj), op.name))
		var next *unstructured.Unstructured
		if made, ok := p.monitors.Head(op.parentKey, owner.Parent.Namespace, owner.Parent.Name); ok && made.GetUID() == owner.Parent.UID {
			next = made
		}
		obj = next
	}
	return generations, chain
}

// descendsTooFar tells whether the rule made the parent from what it made before, and
// so on, too often for it not to go on for ever.
func (p *pass) descendsTooFar() bool {
	generations, chain := p.ancestry()
	if generations < maxGenerations {
		return false
	}
	p.problems = append(p.problems, conditions.Problem{
		Subject: "loop", Reason: conditions.ReasonLoop, Stalled: true,
		Err: fmt.Errorf("nothing more is made of it: the rule makes parents for itself, %d generations so far (%s, and so on); "+
			"give spec.parent a selector or a when that its own children do not meet",
			maxGenerations, strings.Join(chain[:min(len(chain), 4)], ", made of ")),
	})
	return true
}
