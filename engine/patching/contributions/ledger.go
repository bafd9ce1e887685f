package contributions

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"kanon.dev/kanon/engine/plan"
	"kanon.dev/kanon/engine/queue"
)

// ledger is the account of one rule.
type ledger struct {
	rule string
	// revision is the newest one; begun is true once Begin was called for it.
	revision *plan.Plan
	begun    bool
	// pending has the parents that were not reconciled since, and due the targets to enqueue when all have been.
	pending map[types.NamespacedName]bool
	due     queue.Keys

	patches      map[string]*patch
	contributors map[types.NamespacedName]*contributor

	// marked are the targets that the current call has to return. It is empty between calls.
	marked []*target
	// visited counts the entries that calls went through, so that tests can measure the cost of a call.
	visited int
}

// begin opens the wave of the newest revision.
func (l *ledger) begin(parents map[types.NamespacedName]Parent, found queue.Keys) {
	l.begun, l.due = true, found
	if l.due == nil {
		l.due = make(queue.Keys)
	}
	l.pending = make(map[types.NamespacedName]bool, len(parents))
	for name := range parents {
		l.pending[name] = true
	}
	for id, p := range l.patches {
		if l.revision.Patches[id].GVK != p.kind {
			l.dropPatch(p)
		}
	}
	for id, planned := range l.revision.Patches {
		p := l.patches[id]
		if p == nil {
			p = &patch{id: id, kind: planned.GVK, targets: make(map[types.NamespacedName]*target)}
			l.patches[id] = p
		}
		for name := range p.targets {
			l.due[queue.Key{Rule: l.rule, Patch: id, Parent: name}] = true
		}
		for name, parent := range parents {
			c := l.contributor(name)
			if before := c.to(p); before == nil || before.UID != parent.UID {
				l.set(c, p, &Contribution{Parent: parent, Open: true})
			}
		}
		l.visited += len(p.targets) + len(parents)
	}
	for _, k := range l.take() {
		l.due[k] = true
	}
}

// dropPatch forgets a patch that the rule no longer has, or that has another kind of targets now.
func (l *ledger) dropPatch(p *patch) {
	delete(l.patches, p.id)
	for _, t := range p.targets {
		for _, s := range t.awaited {
			if s.awaited {
				s.of.by.awaited--
			}
		}
		for _, c := range t.leaving {
			c.leaving--
		}
		l.visited += 1 + len(t.awaited) + len(t.leaving)
	}
	for _, c := range l.contributors {
		c.contributions = slices.DeleteFunc(c.contributions, func(given *contribution) bool { return given.patch == p })
		l.forgetIdle(c)
	}
	l.visited += len(l.contributors)
}

// ready returns the keys that are due, if all parents have been reconciled.
func (l *ledger) ready() []queue.Key {
	if len(l.pending) > 0 || len(l.due) == 0 {
		return nil
	}
	l.visited += len(l.due)
	due := slices.Collect(maps.Keys(l.due))
	l.pending, l.due = nil, make(queue.Keys)
	return due
}

func (l *ledger) contributor(name types.NamespacedName) *contributor {
	c := l.contributors[name]
	if c == nil {
		c = &contributor{name: name}
		l.contributors[name] = c
	}
	return c
}

// forgetIdle drops a contributor that has no state left.
func (l *ledger) forgetIdle(c *contributor) {
	if len(c.contributions) == 0 && c.leaving <= 0 {
		delete(l.contributors, c.name)
	}
}

// set takes in a parent's current contribution to a patch. It marks the targets for which something changes, and
// those that were blocked because of what is known now.
func (l *ledger) set(c *contributor, p *patch, now *Contribution) {
	given := c.to(p)
	if given != nil && given.UID != now.UID { // another parent of that name
		l.end(given)
		given = nil
	}
	if given == nil {
		given = &contribution{Parent: now.Parent, by: c, patch: p}
		c.contributions = append(c.contributions, given)
	}
	l.setShares(given, now)
	given.known = given.known || now.isComplete()
	l.setDoubts(given, now)
}

func (l *ledger) setShares(given *contribution, now *Contribution) {
	l.visited += len(given.shares) + len(now.Parts)
	kept := given.shares[:0]
	for _, s := range given.shares {
		part := now.Parts[s.target.name]
		switch {
		case part == nil && (now.Open || now.Doubtful[s.target.name]): // it stays as it was
		case part == nil:
			s.target.remove(s)
			l.mark(s.target, given.by)
			continue
		case !part.Same(s.part):
			s.part = part
			l.mark(s.target, given.by)
		}
		kept = append(kept, s)
	}
	clear(given.shares[len(kept):])
	given.shares = kept
	for name, part := range now.Parts {
		if _, there := findShare(kept, name); there {
			continue
		}
		s := &share{of: given, target: given.patch.target(name), part: part}
		s.target.add(s)
		l.mark(s.target, given.by)
		given.shares = append(given.shares, s)
	}
	if len(given.shares) > len(kept) {
		slices.SortFunc(given.shares, func(a, b *share) int { return compareNames(a.target.name, b.target.name) })
	}
}

// setDoubts replaces the doubts about a contribution. It adds new ones before it ends old ones, so that there is no
// moment in between without doubts.
func (l *ledger) setDoubts(given *contribution, now *Contribution) {
	before := given.doubts
	given.doubts = nil
	switch {
	case given.known:
	case now.Open:
		it := &doubt{about: given}
		given.patch.open.add(it)
		given.doubts = append(given.doubts, it)
	default:
		for name := range now.Doubtful {
			it := &doubt{about: given, target: given.patch.target(name)}
			it.target.doubts.add(it)
			given.doubts = append(given.doubts, it)
		}
	}
	l.visited += len(before) + len(given.doubts)
	l.endDoubts(given.patch, before)
}

// endDoubts ends doubts, and marks the targets that they blocked: nothing blocks them any more, or another doubt
// does.
func (l *ledger) endDoubts(p *patch, ended []*doubt) {
	for _, it := range ended {
		t := it.target
		if t == nil {
			if p.open.remove(it) {
				l.unblock(p)
			}
			continue
		}
		renamed := t.doubts.remove(it)
		if renamed && p.blocked[t] && p.open.named == nil {
			delete(p.blocked, t)
			l.mark(t, nil)
		} else if t.isIdle() {
			delete(p.targets, t.name)
		}
	}
}

func (l *ledger) unblock(p *patch) {
	l.visited += len(p.blocked)
	for t := range p.blocked {
		l.mark(t, nil)
	}
	p.blocked = nil
}

// end ends a contribution, and marks the targets that it changes.
func (l *ledger) end(given *contribution) {
	l.visited += len(given.shares) + len(given.doubts)
	for _, s := range given.shares {
		s.target.remove(s)
		l.mark(s.target, given.by)
	}
	l.endDoubts(given.patch, given.doubts)
	given.by.contributions = slices.DeleteFunc(given.by.contributions, func(other *contribution) bool { return other == given })
}

// mark records that a target is to be reconciled. by is the parent whose contribution to it changed, if any.
func (l *ledger) mark(t *target, by *contributor) {
	t.change++
	if by != nil {
		delete(t.left, by.name)
	}
	if !t.marked {
		t.marked = true
		l.marked = append(l.marked, t)
	}
}

// take returns the keys of the marked targets. While parents are pending, it returns none: the keys are due once all
// parents have been reconciled.
func (l *ledger) take() (keys []queue.Key) {
	l.visited += len(l.marked)
	for _, t := range l.marked {
		t.marked = false
		k := queue.Key{Rule: l.rule, Patch: t.patch.id, Parent: t.name}
		if len(l.pending) > 0 {
			l.due[k] = true
			continue
		}
		keys = append(keys, k)
	}
	clear(l.marked)
	if l.marked = l.marked[:0]; cap(l.marked) > keepMarked {
		l.marked = nil
	}
	return keys
}

// keepMarked bounds the capacity for marked targets that is kept between calls.
const keepMarked = 64
