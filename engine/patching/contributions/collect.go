package contributions

import (
	"k8s.io/apimachinery/pkg/types"

	"kanon.dev/kanon/engine/apply/patchset"
	"kanon.dev/kanon/engine/conditions"
	"kanon.dev/kanon/engine/plan"
	"kanon.dev/kanon/engine/queue"
)

// Collected is what the reconcile of a target needs.
type Collected struct {
	// Parts are the parts of Parents, the oldest parent first.
	Parts   []*patchset.Part
	Parents []types.NamespacedName
	// Merged is the result of an earlier merge, nil if there is none. The caller stores the new result here.
	Merged *patchset.Merged
	// Pending is true during a wave; the other fields are empty then. Doubt names a parent whose contributions were
	// never known.
	Pending bool
	Doubt   string

	revision *plan.Plan
	change   int // that of the target when collected
}

// Collect begins the reconcile of a target, which Finish ends, and returns what all parents contribute to it. It
// returns false if another revision is the newest; then nothing has begun.
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
	t = p.target(name) // the end of a doubt enqueues the target even if nobody contributes to it
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

// IsBusy reports whether a target of the key's patch is being reconciled.
func (b *Book) IsBusy(k queue.Key) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.busy[patchOf(k)] > 0
}

// Contributes reports whether some parent contributes to a target.
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

// Finish ends the reconcile of a target that Collect began. came is its problem, and left has the problems of single
// parents. It returns the parents to enqueue.
func (b *Book) Finish(target queue.Key, saw Collected, came conditions.Problem, left map[types.NamespacedName]conditions.Problem) (waited []queue.Key) {
	b.mu.Lock()
	defer b.mu.Unlock()
	name := patchOf(target)
	if b.busy[name]--; b.busy[name] <= 0 {
		delete(b.busy, name)
	}
	l := b.ofLocked(saw.revision)
	if l == nil || came.IsTransient() {
		return nil // a retry follows
	}
	p := l.patches[target.Patch]
	if p == nil || p.targets[target.Parent] == nil {
		return nil
	}
	t := p.targets[target.Parent]
	l.note(t, came, left)
	t.seen, t.merged = saw.change, saw.Merged
	if t.isCurrent() {
		waited = l.settle(t)
	}
	if t.isIdle() {
		delete(p.targets, t.name)
	}
	return waited
}

// note records the result of reconciling a target. The parents for whom it changes are to be enqueued.
func (l *ledger) note(t *target, came conditions.Problem, left map[types.NamespacedName]conditions.Problem) {
	before := t.left
	if !t.problem.Same(came) {
		l.visited += len(t.shares)
		for _, s := range t.shares {
			if !s.gone {
				t.await(s)
			}
		}
	} else {
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

// settle returns the parents that wait only for this target. Those that wait for more targets cannot report yet.
func (l *ledger) settle(t *target) (waited []queue.Key) {
	l.visited += len(t.awaited) + len(t.leaving)
	for _, s := range t.awaited {
		if !s.awaited {
			continue // the share was removed meanwhile
		}
		s.awaited = false
		if s.of.by.awaited--; s.of.by.awaited == 0 {
			waited = append(waited, queue.Key{Rule: l.rule, Parent: s.of.by.name})
		}
	}
	for _, c := range t.leaving {
		if c.leaving--; c.leaving == 0 {
			waited = append(waited, queue.Key{Rule: l.rule, Parent: c.name})
			l.forgetIdle(c)
		}
	}
	t.awaited, t.leaving = nil, nil
	return waited
}
