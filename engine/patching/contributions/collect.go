package contributions

import (
	"k8s.io/apimachinery/pkg/types"

	"kanon.dev/kanon/engine/apply/patchset"
	"kanon.dev/kanon/engine/conditions"
	"kanon.dev/kanon/engine/plan"
	"kanon.dev/kanon/engine/queue"
)

// Collected is what is known of a target.
type Collected struct {
	// Parts are those of Parents, the oldest first.
	Parts   []*patchset.Part
	Parents []types.NamespacedName
	// Merged is what earlier parts came to together, nil where that is not known. Who puts these together leaves here what comes
	// of it.
	Merged *patchset.Merged
	// Pending is true during a wave, when nothing else is said. Doubt names a parent of which it was never known what it
	// contributes.
	Pending bool
	Doubt   string

	revision *plan.Plan
	change   int // that of the target
}

// Collect begins the work on a target, which Finish ends: it gives what all parents contribute to it. It is false where another
// revision counts; then nothing has begun.
func (b *Book) Collect(revision *plan.Plan, target queue.Key) (Collected, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	l := b.ofLocked(revision)
	if l == nil {
		return Collected{}, false
	}
	b.busy[patchOf(target)]++
	if len(l.pending) > 0 {
		l.due[target] = true
		return Collected{revision: revision, Pending: true}, true
	}
	out := Collected{revision: revision}
	if p := l.patches[target.Patch]; p != nil {
		l.collect(p, target.Parent, &out)
	}
	return out, true
}

func (l *ledger) collect(p *patch, name types.NamespacedName, out *Collected) {
	t := p.targets[name]
	if t == nil && p.open.named == nil {
		return
	}
	t = p.target(name) // where there is a doubt, its end leads here, also if nobody contributes
	if it := t.doubt(); it != nil {
		out.Doubt = it.about.by.name.String()
		if p.blocked == nil {
			p.blocked = make(map[*target]bool)
		}
		p.blocked[t] = true
	}
	out.change, out.Merged = t.change, t.merged
	shares := t.inOrder()
	l.visited += len(shares)
	out.Parts, out.Parents = make([]*patchset.Part, len(shares)), make([]types.NamespacedName, len(shares))
	for i, s := range shares {
		out.Parts[i], out.Parents[i] = s.part, s.of.by.name
	}
}

// IsBusy tells whether a target of the key's patch is being worked on.
func (b *Book) IsBusy(k queue.Key) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.busy[patchOf(k)] > 0
}

// Contributes tells whether some parent contributes to a target.
func (b *Book) Contributes(target queue.Key) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	l := b.ledgers[target.Rule]
	if l == nil || l.patches[target.Patch] == nil {
		return false
	}
	t := l.patches[target.Patch].targets[target.Parent]
	return t != nil && t.size() > 0
}

// Finish ends the work on a target that Collect began: it notes what came of it, and what is in the way of single parents, and
// gives the parents that are to be told.
func (b *Book) Finish(target queue.Key, saw Collected, came conditions.Problem, left map[types.NamespacedName]conditions.Problem) (told []queue.Key) {
	b.mu.Lock()
	defer b.mu.Unlock()
	name := patchOf(target)
	if b.busy[name]--; b.busy[name] <= 0 {
		delete(b.busy, name)
	}
	l := b.ofLocked(saw.revision)
	if l == nil || came.IsTransient() {
		return nil // another try follows
	}
	p := l.patches[target.Patch]
	if p == nil || p.targets[target.Parent] == nil {
		return nil
	}
	t := p.targets[target.Parent]
	l.note(t, came, left)
	t.seen, t.merged = saw.change, saw.Merged
	if t.isCurrent() {
		told = l.tell(t)
	}
	if t.isIdle() {
		delete(p.targets, t.name)
	}
	return told
}

// note takes in what came of the work on a target. For whom that is new waits.
func (l *ledger) note(t *target, came conditions.Problem, left map[types.NamespacedName]conditions.Problem) {
	before := t.left
	switch {
	case !t.problem.Same(came):
		l.visited += len(t.shares)
		for _, s := range t.shares {
			if !s.gone {
				t.await(s)
			}
		}
	default:
		l.visited += len(before) + len(left)
		for name, problem := range before {
			if !problem.Same(left[name]) {
				l.awaitOf(t, name)
			}
		}
		for name, problem := range left {
			if !problem.Same(before[name]) {
				l.awaitOf(t, name)
			}
		}
	}
	if t.problem, t.left = came, left; len(left) == 0 {
		t.left = nil
	}
}

func (l *ledger) awaitOf(t *target, parent types.NamespacedName) {
	c := l.contributors[parent]
	if c == nil {
		return
	}
	if given := c.to(t.patch); given != nil {
		if s, ok := findShare(given.shares, t.name); ok {
			t.await(s)
		}
	}
}

// tell gives the parents that wait for nothing else than this target. One that waits for more of them could not say yet how it
// fares.
func (l *ledger) tell(t *target) (told []queue.Key) {
	l.visited += len(t.awaited) + len(t.leaving)
	for _, s := range t.awaited {
		if !s.awaited {
			continue // it was taken out meanwhile
		}
		s.awaited = false
		if s.of.by.awaited--; s.of.by.awaited == 0 {
			told = append(told, queue.Key{Rule: l.rule, Parent: s.of.by.name})
		}
	}
	for _, c := range t.leaving {
		if c.leaving--; c.leaving == 0 {
			told = append(told, queue.Key{Rule: l.rule, Parent: c.name})
			l.forgetIdle(c)
		}
	}
	t.awaited, t.leaving = nil, nil
	return told
}
