package patching

import (
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"kanon.dev/kanon/engine/conditions"
	"kanon.dev/kanon/engine/operator"
	"kanon.dev/kanon/engine/queue"
)

// The ledger has, for each target, the part that each parent sets there. The reconcile of a parent reports what the
// parent contributes; the reconcile of a target collects the parts of all parents.
//
// Nothing is removed from a target while the contribution of some parent was never known. While it is unknown again,
// what was known before stays. After the start of a rule nothing is known, so its targets are not written until each
// of its parents was reconciled once.
//
// Calls on behalf of a revision that is not the newest have no effect: a reconcile of a replaced operator can end
// late, and what it reports is outdated.
//
// A call costs as much as the one parent or target that it is about, however many others exist. What changes during
// the start of a rule is enqueued once, at its end. A parent that waits for several targets is enqueued when the last
// of them was reconciled.

// ledgers are the accounts of all rules. They are safe for concurrent use, do no input or output, and return the keys
// that the caller is to enqueue.
type ledgers struct {
	mu sync.Mutex
	// of has the account of each rule, by its id. Guarded by mu, like everything below.
	of map[string]*ledger
	// busy counts the targets of a patch that are being reconciled.
	busy map[patchName]int
}

// patchName identifies a patch: the rule's id and the patch's id in it.
type patchName struct{ rule, patch string }

func newLedgers() *ledgers {
	return &ledgers{of: make(map[string]*ledger), busy: make(map[patchName]int)}
}

// ledger is the account of one rule.
type ledger struct {
	rule string
	// revision is the newest one; begun is true once begin was called for it.
	revision *operator.Plan
	begun    bool
	// pending has the parents that were not reconciled since, and due the targets to enqueue when all have been.
	pending map[types.NamespacedName]bool
	due     queue.Keys

	patches map[string]*account
	// awaited counts, by parent, the targets that the parent waits for.
	awaited map[types.NamespacedName]int
	// marked are the targets that the current call has to return. It is empty between calls.
	marked []*entry
}

// account is the account of one patch.
type account struct {
	id string
	// kind is the kind of the targets.
	kind          schema.GroupVersionKind
	contributions map[types.NamespacedName]*contribution // by parent
	targets       map[types.NamespacedName]*entry
	// open are the parents of which it was never known to which targets they contribute.
	open doubts
	// blocked are the targets that were reconciled while there was a doubt.
	blocked map[*entry]bool
}

// entry is what is known of one target.
type entry struct {
	name    types.NamespacedName
	account *account
	// parts has what each parent sets.
	parts map[types.NamespacedName]share
	// doubts are the parents of which it was never known what they set here.
	doubts doubts
	// waiting are the parents that wait until the target was reconciled.
	waiting map[types.NamespacedName]bool
	// change counts the changes of the contributions; seen is the change that the last reconcile saw.
	change, seen int
	// marked is true while the target is in ledger.marked.
	marked bool
	// problem is the result of the last reconcile, and left has the problems of single parents.
	problem conditions.Problem
	left    map[types.NamespacedName]conditions.Problem
}

// share is what a parent sets in one target.
type share struct {
	part    *Part
	created time.Time
}

// expect makes a revision the newest one of its rule. From now on, calls on behalf of any other have no effect. Calls
// for the new one have none before begin.
func (b *ledgers) expect(revision *operator.Plan) {
	b.mu.Lock()
	defer b.mu.Unlock()
	l := b.of[revision.ID]
	if l == nil {
		l = &ledger{rule: revision.ID, patches: make(map[string]*account), awaited: make(map[types.NamespacedName]int)}
		b.of[revision.ID] = l
	}
	l.revision, l.begun = revision, false
}

// currentLocked returns the ledger of a revision; nil if it is not the newest one or has not begun.
func (b *ledgers) currentLocked(revision *operator.Plan) *ledger {
	if l := b.of[revision.ID]; l != nil && l.revision == revision && l.begun {
		return l
	}
	return nil
}

// begin begins the start of the expected revision, with these parents. found are more keys to return at its end; the
// map becomes the ledger's. It returns the keys that are ready at once.
func (b *ledgers) begin(revision *operator.Plan, parents map[types.NamespacedName]contributor, found queue.Keys) (ready []queue.Key) {
	b.mu.Lock()
	defer b.mu.Unlock()
	l := b.of[revision.ID]
	if l == nil || l.revision != revision {
		return nil
	}
	l.begun, l.due = true, found
	if l.due == nil {
		l.due = make(queue.Keys)
	}
	l.pending = make(map[types.NamespacedName]bool, len(parents))
	for name := range parents {
		l.pending[name] = true
	}
	for id, a := range l.patches {
		if revision.Patches[id].GVK != a.kind {
			delete(l.patches, id)
			for _, t := range a.targets {
				l.stopWaiting(t)
			}
		}
	}
	for id, planned := range revision.Patches {
		a := l.patches[id]
		if a == nil {
			a = &account{
				id: id, kind: planned.GVK,
				contributions: make(map[types.NamespacedName]*contribution), targets: make(map[types.NamespacedName]*entry),
			}
			l.patches[id] = a
		}
		for name := range a.targets {
			l.due[queue.Key{Rule: l.rule, Patch: id, Parent: name}] = true
		}
		for name, parent := range parents {
			if before := a.contributions[name]; before == nil || before.UID != parent.UID {
				l.set(a, name, &contribution{contributor: parent, Open: true})
			}
		}
	}
	for _, k := range l.take() {
		l.due[k] = true
	}
	return l.ready()
}

// hasBegun reports whether begin was called for a revision, and no other is expected.
func (b *ledgers) hasBegun(revision *operator.Plan) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.currentLocked(revision) != nil
}

// reconciled records that a parent was reconciled, and returns the keys that are ready now.
func (b *ledgers) reconciled(revision *operator.Plan, parent types.NamespacedName) (ready []queue.Key) {
	b.mu.Lock()
	defer b.mu.Unlock()
	l := b.currentLocked(revision)
	if l == nil || len(l.pending) == 0 {
		return nil
	}
	delete(l.pending, parent)
	return l.ready()
}

// ready returns the keys that are due, if all parents have been reconciled.
func (l *ledger) ready() []queue.Key {
	if len(l.pending) > 0 || len(l.due) == 0 {
		return nil
	}
	due := slices.Collect(maps.Keys(l.due))
	l.pending, l.due = nil, make(queue.Keys)
	return due
}

// set takes in what a parent contributes by a patch, and returns the targets to reconcile now. Unknown contributions
// stay as they were.
func (b *ledgers) set(revision *operator.Plan, parent types.NamespacedName, id string, now *contribution) []queue.Key {
	b.mu.Lock()
	defer b.mu.Unlock()
	l := b.currentLocked(revision)
	if l == nil || l.patches[id] == nil {
		return nil
	}
	l.set(l.patches[id], parent, now)
	return l.take()
}

// set marks the targets for which something changes, and those that were blocked because of what is known now.
func (l *ledger) set(a *account, parent types.NamespacedName, now *contribution) {
	before := a.contributions[parent]
	if before != nil && before.UID != now.UID { // another parent of that name
		l.end(a, parent)
		before = nil
	}
	if now.Parts == nil {
		now.Parts = make(map[types.NamespacedName]*Part)
	}
	now.known = !now.Open && len(now.Doubtful) == 0
	if before != nil {
		now.known = now.known || before.known
		for name, part := range before.Parts {
			switch {
			case now.Parts[name] != nil:
			case now.Open || now.Doubtful[name]:
				now.Parts[name] = part // it stays as it was
			default:
				l.remove(a.targets[name], parent)
			}
		}
	}
	for name, part := range now.Parts {
		if before != nil && before.Parts[name] != nil && before.Parts[name].Same(part) {
			continue
		}
		t := a.target(name)
		t.parts[parent] = share{part, now.Created}
		l.mark(t, parent)
	}
	a.contributions[parent] = now
	l.moveDoubts(a, parent, before, now)
}

// moveDoubts replaces the doubts about a contribution. It adds new ones before it ends old ones, so that there is no
// moment in between without doubts.
func (l *ledger) moveDoubts(a *account, parent types.NamespacedName, before, now *contribution) {
	wasOpen, were := before.doubts()
	isOpen, are := now.doubts()
	if isOpen {
		a.open.add(parent)
	}
	for name := range are {
		a.target(name).doubts.add(parent)
	}
	if wasOpen && !isOpen && a.open.remove(parent) {
		for t := range a.blocked {
			l.mark(t, types.NamespacedName{})
		}
		a.blocked = nil
	}
	for name := range were {
		if are[name] {
			continue
		}
		t := a.targets[name]
		if t.doubts.remove(parent) && a.blocked[t] && !a.open.exist() {
			delete(a.blocked, t) // nothing blocks it any more, or another doubt does
			l.mark(t, types.NamespacedName{})
		} else {
			t.forgetIdle()
		}
	}
}

// drop ends all contributions of a parent, and returns the targets to reconcile. The parent waits for them.
func (b *ledgers) drop(revision *operator.Plan, parent types.NamespacedName) []queue.Key {
	b.mu.Lock()
	defer b.mu.Unlock()
	l := b.currentLocked(revision)
	if l == nil {
		return nil
	}
	for _, a := range l.patches {
		l.end(a, parent)
	}
	for _, t := range l.marked {
		l.await(t, parent)
	}
	return l.take()
}

// end ends a contribution, and marks the targets that it changes.
func (l *ledger) end(a *account, parent types.NamespacedName) {
	given := a.contributions[parent]
	if given == nil {
		return
	}
	delete(a.contributions, parent)
	for name := range given.Parts {
		l.remove(a.targets[name], parent)
	}
	l.moveDoubts(a, parent, given, nil)
}

// remove removes what a parent sets in a target.
func (l *ledger) remove(t *entry, parent types.NamespacedName) {
	delete(t.parts, parent)
	l.unawait(t, parent)
	l.mark(t, parent)
}

// hasPendingRestores reports whether some target of a dropped parent was not reconciled since. When all have been,
// finish returns the parent's key. Targets that could not be released by then are retried without the parent.
func (b *ledgers) hasPendingRestores(parent queue.Key) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	l := b.of[parent.Rule]
	return l != nil && l.awaited[parent.Parent] > 0
}

// addKeys adds the parents of a rule that contribute something to found.
func (b *ledgers) addKeys(rule string, found queue.Keys) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if l := b.of[rule]; l != nil {
		for _, a := range l.patches {
			for name := range a.contributions {
				found[queue.Key{Rule: rule, Parent: name}] = true
			}
		}
	}
}

// forgetRule drops the state of a rule that stopped; its targets stay as they are.
func (b *ledgers) forgetRule(id string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.of, id)
}

// targetProblem is the problem with what a parent sets in one target.
type targetProblem struct {
	target  types.NamespacedName
	part    *Part
	problem conditions.Problem
}

// problemsOf returns the problems with what a parent contributes by a patch, by target. If awaited is true, some
// targets were not reconciled since the contribution changed; when all have been, finish returns the parent's key.
func (b *ledgers) problemsOf(revision *operator.Plan, parent types.NamespacedName, id string) (problems []targetProblem, awaited bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	l := b.currentLocked(revision)
	if l == nil {
		return nil, true // the start of the newest revision reconciles the parent
	}
	a := l.patches[id]
	if a == nil || a.contributions[parent] == nil {
		return nil, false
	}
	parts := a.contributions[parent].Parts
	for _, name := range slices.SortedFunc(maps.Keys(parts), compareNames) {
		t := a.targets[name]
		if !t.isCurrent() {
			l.await(t, parent)
			awaited = true
			continue
		}
		problem := t.problem
		if own, ok := t.left[parent]; ok && !own.IsNone() {
			problem = own
		}
		if !problem.IsNone() {
			problems = append(problems, targetProblem{name, parts[name], problem})
		}
	}
	return problems, awaited
}

// mark records that a target is to be reconciled. by is the parent whose contribution to it changed, if any.
func (l *ledger) mark(t *entry, by types.NamespacedName) {
	t.change++
	delete(t.left, by)
	if !t.marked {
		t.marked = true
		l.marked = append(l.marked, t)
	}
}

// take returns the keys of the marked targets. While parents are pending, it returns none: the keys are due once all
// parents have been reconciled.
func (l *ledger) take() (keys []queue.Key) {
	for _, t := range l.marked {
		t.marked = false
		k := queue.Key{Rule: l.rule, Patch: t.account.id, Parent: t.name}
		if len(l.pending) > 0 {
			l.due[k] = true
			continue
		}
		keys = append(keys, k)
	}
	l.marked = nil
	return keys
}

// await has a parent wait until the target was reconciled.
func (l *ledger) await(t *entry, parent types.NamespacedName) {
	if !t.waiting[parent] {
		t.waiting[parent] = true
		l.awaited[parent]++
	}
}

// unawait ends that, and reports whether the parent waits for no other target.
func (l *ledger) unawait(t *entry, parent types.NamespacedName) (last bool) {
	if !t.waiting[parent] {
		return false
	}
	delete(t.waiting, parent)
	if l.awaited[parent]--; l.awaited[parent] > 0 {
		return false
	}
	delete(l.awaited, parent)
	return true
}

// stopWaiting ends the waiting for a target, and returns the parents that wait for no other target.
func (l *ledger) stopWaiting(t *entry) (last []types.NamespacedName) {
	for parent := range t.waiting {
		if l.unawait(t, parent) {
			last = append(last, parent)
		}
	}
	return last
}
