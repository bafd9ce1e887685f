package contributions

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"kanon.dev/kanon/engine/apply/patchset"
	"kanon.dev/kanon/engine/conditions"
	"kanon.dev/kanon/engine/plan"
	"kanon.dev/kanon/engine/queue"
)

// Book is the account of all rules. It is safe for use by many goroutines.
type Book struct {
	mu sync.Mutex
	// ledgers has what is known of each rule, by its id. Guarded by mu, with all below.
	ledgers map[string]*ledger
	// busy counts the targets of a patch that are worked on. Guarded by mu.
	busy map[patchName]int
}

// patchName names a patch: a rule's id, and an id in it.
type patchName struct{ rule, patch string }

func patchOf(k queue.Key) patchName { return patchName{k.Rule, k.Patch} }

// New makes an empty book.
func New() *Book {
	return &Book{ledgers: make(map[string]*ledger), busy: make(map[patchName]int)}
}

// Expect makes a revision the newest one of its rule. From now on, what is called on behalf of any other has no effect: a pass of
// an operator that was replaced may end late. Nothing is taken in for the new one before Begin.
func (b *Book) Expect(revision *plan.Plan) {
	b.mu.Lock()
	defer b.mu.Unlock()
	l := b.ledgers[revision.ID]
	if l == nil {
		l = &ledger{rule: revision.ID, patches: make(map[string]*patch), contributors: make(map[types.NamespacedName]*contributor)}
		b.ledgers[revision.ID] = l
	}
	l.revision, l.begun = revision, false
}

// Begin opens the wave of the revision that is expected, with these parents. found are keys to be worked on besides when it is
// over; it becomes the book's. It returns what is ready at once.
func (b *Book) Begin(revision *plan.Plan, parents map[types.NamespacedName]Parent, found queue.Keys) (ready []queue.Key) {
	b.mu.Lock()
	defer b.mu.Unlock()
	l := b.ledgers[revision.ID]
	if l == nil || l.revision != revision {
		return nil
	}
	l.begin(parents, found)
	return l.ready()
}

// HasBegun tells whether the wave of a revision was opened, and no other is expected.
func (b *Book) HasBegun(revision *plan.Plan) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.ofLocked(revision) != nil
}

// ofLocked is the ledger of a rule for a revision; nil where that is not the one that counts.
func (b *Book) ofLocked(revision *plan.Plan) *ledger {
	if l := b.ledgers[revision.ID]; l != nil && l.revision == revision && l.begun {
		return l
	}
	return nil
}

// Reconciled notes that a parent was reconciled, and gives the keys that are ready now.
func (b *Book) Reconciled(revision *plan.Plan, parent types.NamespacedName) (ready []queue.Key) {
	b.mu.Lock()
	defer b.mu.Unlock()
	l := b.ofLocked(revision)
	if l == nil || len(l.pending) == 0 {
		return nil
	}
	delete(l.pending, parent)
	return l.ready()
}

// Set takes in what a parent contributes by a patch, and gives the targets to be worked on now. What is not known stays as it was
// before.
func (b *Book) Set(revision *plan.Plan, parent types.NamespacedName, id string, now *Contribution) []queue.Key {
	b.mu.Lock()
	defer b.mu.Unlock()
	l := b.ofLocked(revision)
	if l == nil || l.patches[id] == nil {
		return nil
	}
	l.set(l.contributor(parent), l.patches[id], now)
	return l.take()
}

// Drop ends all that a parent contributes, and gives the targets to be worked on.
func (b *Book) Drop(revision *plan.Plan, parent types.NamespacedName) []queue.Key {
	b.mu.Lock()
	defer b.mu.Unlock()
	l := b.ofLocked(revision)
	if l == nil || l.contributors[parent] == nil {
		return nil
	}
	c := l.contributors[parent]
	for len(c.contributions) > 0 {
		l.end(c.contributions[0])
	}
	for _, t := range l.marked {
		t.leaving = append(t.leaving, c)
		c.leaving++
	}
	l.forgetIdle(c)
	return l.take()
}

// IsLeaving tells whether a target of a parent that was dropped was not worked on since. When all have been, the parent is among
// the keys of Finish; what could not be released then is tried again without it.
func (b *Book) IsLeaving(parent queue.Key) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	l := b.ledgers[parent.Rule]
	return l != nil && l.contributors[parent.Parent] != nil && l.contributors[parent.Parent].leaving > 0
}

// AddKeys adds to found the parents of a rule that contribute something.
func (b *Book) AddKeys(rule string, found queue.Keys) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if l := b.ledgers[rule]; l != nil {
		for name, c := range l.contributors {
			if len(c.contributions) > 0 {
				found[queue.Key{Rule: rule, Parent: name}] = true
			}
		}
	}
}

// ForgetRule drops what is known of a rule that stopped; its targets stay as they are.
func (b *Book) ForgetRule(id string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.ledgers, id)
}

// Fare is how what a parent sets in a target fares.
type Fare struct {
	Target  types.NamespacedName
	Part    *patchset.Part
	Problem conditions.Problem
}

// Fares lists what is in the way of what a parent contributes by a patch, by target. Where awaited is true, there are targets
// that nobody has worked on since it changed: the parent is among the keys of Finish when all have been.
func (b *Book) Fares(revision *plan.Plan, parent types.NamespacedName, id string) (fares []Fare, awaited bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	l := b.ofLocked(revision)
	if l == nil {
		return nil, true // the start of the newest revision has the parent reconciled
	}
	if l.patches[id] == nil || l.contributors[parent] == nil {
		return nil, false
	}
	given := l.contributors[parent].to(l.patches[id])
	if given == nil {
		return nil, false
	}
	l.visited += len(given.shares)
	for _, s := range given.shares {
		t := s.target
		if !t.isCurrent() {
			t.await(s)
			awaited = true
			continue
		}
		problem := t.problem
		if own, ok := t.left[parent]; ok && !own.IsNone() {
			problem = own
		}
		if !problem.IsNone() {
			fares = append(fares, Fare{Target: t.name, Part: s.part, Problem: problem})
		}
	}
	return fares, awaited
}
