package contributions

import (
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"kanon.dev/kanon/engine/apply"
)

// Parent is who contributes.
type Parent struct {
	UID types.UID
	// Created is when the parent was: of two that contradict, the older is heard.
	Created time.Time
}

// Contribution is what one parent sets by one patch.
type Contribution struct {
	Parent

	// Parts has what is set in each target.
	Parts map[types.NamespacedName]*apply.Part
	// Doubtful are targets of which what is set is not known now, and Open is true
	// where there may be any others.
	Doubtful map[types.NamespacedName]bool
	Open     bool

	// known is true once all was known: what is not in Parts is not contributed.
	known bool
}

// isComplete tells whether all is known now.
func (c *Contribution) isComplete() bool { return !c.Open && len(c.Doubtful) == 0 }

// isDoubtful tells whether it was never known what the parent contributes.
func (c *Contribution) isDoubtful() bool { return c != nil && !c.known && !c.isComplete() }

// all is what is set in each target; of nil nothing.
func (c *Contribution) all() map[types.NamespacedName]*apply.Part {
	if c == nil {
		return nil
	}
	return c.Parts
}

// retain keeps what was contributed before, where what is now is not known.
func (c *Contribution) retain(before *Contribution) {
	for target, part := range before.Parts {
		if c.Parts[target] == nil && (c.Open || c.Doubtful[target]) {
			if c.Parts == nil {
				c.Parts = make(map[types.NamespacedName]*apply.Part, 1)
			}
			c.Parts[target] = part
		}
	}
	c.known = c.isComplete() || before.known
}

// patch is what is known of one patch.
type patch[P Problem[P]] struct {
	// kind is that of the targets.
	kind    schema.GroupVersionKind
	parents map[types.NamespacedName]*Contribution
	targets map[types.NamespacedName]*target[P]
	// leaving counts, of parents that contribute nothing any more, the targets at which
	// nobody has looked since.
	leaving map[types.NamespacedName]int
}

// target is what came of one target.
type target[P Problem[P]] struct {
	parents map[types.NamespacedName]bool
	// change counts what changed in the contributions, and looked is the change that
	// the last look saw.
	change, looked int
	// problem is what the last look came to, and left has the problems of single
	// parents.
	problem P
	left    map[types.NamespacedName]P
	// waiters are parents that wait for a look, and leaving those among them that
	// contribute nothing any more.
	waiters, leaving map[types.NamespacedName]bool
}

// set replaces what a parent contributes; nil ends it. It gives the targets to look
// at: those of which something changes, and where more is known than before, all that
// were left as they are for want of that.
func (p *patch[P]) set(parent types.NamespacedName, now *Contribution) map[types.NamespacedName]bool {
	before := p.parents[parent]
	if before != nil && now != nil && before.UID == now.UID {
		now.retain(before)
	}
	changed := make(map[types.NamespacedName]bool)
	if before.isDoubtful() && !now.isDoubtful() {
		for target := range p.targets {
			changed[target] = true
		}
	}
	for target, part := range before.all() {
		if other := now.all()[target]; other == nil || !part.Same(other) {
			changed[target] = true
		}
	}
	for target := range now.all() {
		if before.all()[target] == nil {
			changed[target] = true
		}
	}
	for target := range before.all() {
		delete(p.target(target).parents, parent)
	}
	for target := range now.all() {
		p.target(target).parents[parent] = true
	}
	if now == nil {
		delete(p.parents, parent)
	} else {
		p.parents[parent] = now
	}
	for target := range changed {
		t := p.target(target)
		t.change++
		delete(t.left, parent)
	}
	return changed
}

func (p *patch[P]) target(name types.NamespacedName) *target[P] {
	t := p.targets[name]
	if t == nil {
		t = &target[P]{
			parents: make(map[types.NamespacedName]bool), waiters: make(map[types.NamespacedName]bool),
			leaving: make(map[types.NamespacedName]bool),
		}
		p.targets[name] = t
	}
	return t
}

// leave has a parent that contributes nothing any more wait until somebody has looked at
// targets.
func (p *patch[P]) leave(parent types.NamespacedName, targets map[types.NamespacedName]bool) {
	for name := range targets {
		if t := p.target(name); !t.leaving[parent] {
			t.waiters[parent], t.leaving[parent] = true, true
			p.leaving[parent]++
		}
	}
}

// letGo notes that somebody has looked at a target.
func (p *patch[P]) letGo(t *target[P]) {
	for parent := range t.leaving {
		if p.leaving[parent]--; p.leaving[parent] <= 0 {
			delete(p.leaving, parent)
		}
	}
	clear(t.leaving)
}

// isCurrent tells whether somebody looked since the contributions changed.
func (t *target[P]) isCurrent() bool { return t.looked >= t.change }

// note takes in what a look came to, which saw the given change. For whom it is news
// waits.
func (t *target[P]) note(came P, left map[types.NamespacedName]P, saw int) {
	all := !t.problem.Same(came)
	for parent := range t.parents {
		if all || !t.left[parent].Same(left[parent]) {
			t.waiters[parent] = true
		}
	}
	t.problem, t.left, t.looked = came, left, saw
}
