package patching

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"kanon.dev/kanon/engine/conditions"
	"kanon.dev/kanon/engine/operator"
	"kanon.dev/kanon/engine/queue"
)

// collected is what the reconcile of a target needs.
type collected struct {
	// parts are the parts of parents, the oldest parent first.
	parts   []*Part
	parents []types.NamespacedName
	// pending is true during the start of the rule; the other fields are empty then. doubt names a parent whose
	// contributions were never known.
	pending bool
	doubt   string

	revision *operator.Plan
	change   int // that of the target when collected
}

// collect begins the reconcile of a target, which finish ends, and returns what all parents contribute to it. It
// returns false if another revision is the newest; then nothing has begun.
func (b *ledgers) collect(revision *operator.Plan, target queue.Key) (collected, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	l := b.currentLocked(revision)
	if l == nil {
		return collected{}, false
	}
	b.busy[patchName{target.Rule, target.Patch}]++
	if len(l.pending) > 0 {
		l.due[target] = true
		return collected{revision: revision, pending: true}, true
	}
	out := collected{revision: revision}
	a := l.patches[target.Patch]
	if a == nil || a.targets[target.Parent] == nil && !a.open.exist() {
		return out, true
	}
	t := a.target(target.Parent) // the end of a doubt enqueues the target even if nobody contributes to it
	for _, d := range []doubts{t.doubts, a.open} {
		if d.exist() {
			out.doubt = d.named.String()
			if a.blocked == nil {
				a.blocked = make(map[*entry]bool)
			}
			a.blocked[t] = true
		}
	}
	out.change = t.change
	out.parents = slices.SortedFunc(maps.Keys(t.parts), func(x, y types.NamespacedName) int {
		return cmp.Or(t.parts[x].created.Compare(t.parts[y].created), compareNames(x, y))
	})
	for _, parent := range out.parents {
		out.parts = append(out.parts, t.parts[parent].part)
	}
	return out, true
}

// isBusy reports whether a target of the key's patch is being reconciled.
func (b *ledgers) isBusy(k queue.Key) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.busy[patchName{k.Rule, k.Patch}] > 0
}

// contributes reports whether some parent contributes to a target.
func (b *ledgers) contributes(target queue.Key) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	l := b.of[target.Rule]
	if l == nil || l.patches[target.Patch] == nil {
		return false
	}
	t := l.patches[target.Patch].targets[target.Parent]
	return t != nil && len(t.parts) > 0
}

// finish ends the reconcile of a target that collect began. came is its problem, and left has the problems of single
// parents. It returns the parents to enqueue: those that wait for nothing else.
func (b *ledgers) finish(target queue.Key, saw collected, came conditions.Problem, left map[types.NamespacedName]conditions.Problem) (waited []queue.Key) {
	b.mu.Lock()
	defer b.mu.Unlock()
	name := patchName{target.Rule, target.Patch}
	if b.busy[name]--; b.busy[name] <= 0 {
		delete(b.busy, name)
	}
	l := b.currentLocked(saw.revision)
	if l == nil || came.IsTransient() {
		return nil // a retry follows
	}
	a := l.patches[target.Patch]
	if a == nil || a.targets[target.Parent] == nil {
		return nil
	}
	t := a.targets[target.Parent]
	l.note(t, came, left)
	if t.seen = saw.change; t.isCurrent() {
		for _, parent := range l.stopWaiting(t) {
			waited = append(waited, queue.Key{Rule: l.rule, Parent: parent})
		}
	}
	t.forgetIdle()
	return waited
}

// note records the result of reconciling a target. The parents for whom it changes are to be enqueued.
func (l *ledger) note(t *entry, came conditions.Problem, left map[types.NamespacedName]conditions.Problem) {
	if !t.problem.Same(came) {
		for parent := range t.parts {
			l.await(t, parent)
		}
	}
	for _, some := range []map[types.NamespacedName]conditions.Problem{t.left, left} {
		for parent := range some {
			if _, contributes := t.parts[parent]; contributes && !t.left[parent].Same(left[parent]) {
				l.await(t, parent)
			}
		}
	}
	t.problem, t.left = came, left
}

// target returns the entry of a target, and adds it if there is none.
func (a *account) target(name types.NamespacedName) *entry {
	t := a.targets[name]
	if t == nil {
		t = &entry{
			name: name, account: a,
			parts: make(map[types.NamespacedName]share), waiting: make(map[types.NamespacedName]bool),
		}
		a.targets[name] = t
	}
	return t
}

// isCurrent reports whether the target was reconciled since the contributions changed.
func (t *entry) isCurrent() bool { return t.seen >= t.change }

// forgetIdle drops a target that has no state left.
func (t *entry) forgetIdle() {
	if len(t.parts)+len(t.waiting) == 0 && !t.doubts.exist() && t.isCurrent() && t.problem.IsNone() && !t.account.blocked[t] {
		delete(t.account.targets, t.name)
	}
}

func compareNames(a, b types.NamespacedName) int {
	return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
}
