package contributions

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"kanon.dev/kanon/engine/apply/patchset"
	"kanon.dev/kanon/engine/conditions"
	"kanon.dev/kanon/engine/plan"
	"kanon.dev/kanon/engine/queue"
)

// Book is the account of all rules. It is safe for concurrent use.
type Book struct {
	mu sync.Mutex
	// ledgers has the account of each rule, by its id. Guarded by mu, like everything below.
	ledgers map[string]*ledger
	// busy counts the targets of a patch that are being reconciled.
	busy map[patchName]int
}

// patchName identifies a patch: the rule's id and the patch's id in it.
type patchName struct{ rule, patch string }

func patchOf(k queue.Key) patchName { return patchName{k.Rule, k.Patch} }

// New returns an empty book.
func New() *Book {
	return &Book{ledgers: make(map[string]*ledger), busy: make(map[patchName]int)}
}

// Expect makes a revision the newest one of its rule. From now on, calls on behalf of any other have no effect: a
// reconcile of a replaced operator may end late. Calls for the new one have none before Begin.
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

// Begin opens the wave of the expected revision, with these parents. found are more keys to return at its end; the
// map becomes the book's. It returns the keys that are ready at once.
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

// HasBegun reports whether Begin was called for a revision, and no other is expected.
func (b *Book) HasBegun(revision *plan.Plan) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.ofLocked(revision) != nil
}

// ofLocked returns the ledger of a revision; nil if it is not the newest one or has not begun.
func (b *Book) ofLocked(revision *plan.Plan) *ledger {
	if l := b.ledgers[revision.ID]; l != nil && l.revision == revision && l.begun {
		return l
	}
	return nil
}

// Reconciled records that a parent was reconciled, and returns the keys that are ready now.
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

// Set takes in what a parent contributes by a patch, and returns the targets to reconcile now. Unknown contributions
// stay as they were.
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

// Drop ends all contributions of a parent, and returns the targets to reconcile.
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

// HasPendingRestores reports whether some target of a dropped parent was not reconciled since. When all have been, Finish
// returns the parent's key. Targets that could not be released by then are retried without the parent.
func (b *Book) HasPendingRestores(parent queue.Key) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	l := b.ledgers[parent.Rule]
	return l != nil && l.contributors[parent.Parent] != nil && l.contributors[parent.Parent].leaving > 0
}

// AddKeys adds the parents of a rule that contribute something to found.
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

// ForgetRule drops the state of a rule that stopped; its targets stay as they are.
func (b *Book) ForgetRule(id string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.ledgers, id)
}

// TargetProblem is the problem with what a parent sets in one target.
type TargetProblem struct {
	Target  types.NamespacedName
	Part    *patchset.Part
	Problem conditions.Problem
}

// ProblemsOf returns the problems with what a parent contributes by a patch, by target. If awaited is true, some targets
// were not reconciled since the contribution changed; when all have been, Finish returns the parent's key.
func (b *Book) ProblemsOf(revision *plan.Plan, parent types.NamespacedName, id string) (problems []TargetProblem, awaited bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	l := b.ofLocked(revision)
	if l == nil {
		return nil, true // the start of the newest revision reconciles the parent
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
			problems = append(problems, TargetProblem{Target: t.name, Part: s.part, Problem: problem})
		}
	}
	return problems, awaited
}
