package contributions

import (
	"maps"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"kanon.dev/kanon/engine/apply"
	"kanon.dev/kanon/engine/queue"
)

// Problem is what is in the way of a patch. Its zero value stands for nothing: the
// patch is in place.
type Problem[P any] interface {
	// IsNone tells whether nothing is in the way.
	IsNone() bool
	// Same tells whether another problem says the same.
	Same(other P) bool
	// Passing tells whether the next look will know better.
	Passing() bool
}

// Book is the account. It is safe for use by many goroutines.
type Book[P Problem[P]] struct {
	mu sync.Mutex
	// patches and waves are guarded by mu, with all below them.
	patches map[patchName]*patch[P]
	waves   map[string]*wave // by the rule's id
	// busy counts the targets of a patch that are being looked at. Guarded by mu.
	busy map[patchName]int
}

// patchName names a patch: a rule's id, and an id in it.
type patchName struct{ rule, patch string }

func patchOf(k queue.Key) patchName { return patchName{k.Rule, k.Patch} }

// Revision is one start of a rule. A rule that starts anew has another one.
type Revision struct {
	Rule string // its id
	// Kinds has the kind of the targets of each patch, by the patch's id.
	Kinds map[string]schema.GroupVersionKind
}

// wave is the time from the start of a rule's revision until all its parents were
// looked at.
type wave struct {
	revision *Revision
	pending  map[types.NamespacedName]bool
	// held are the keys of targets to be looked at when it is over.
	held queue.Keys
}

// New makes an empty book.
func New[P Problem[P]]() *Book[P] {
	return &Book[P]{patches: make(map[patchName]*patch[P]), waves: make(map[string]*wave), busy: make(map[patchName]int)}
}

// HasBegun tells whether the wave of a revision was opened.
func (b *Book[P]) HasBegun(revision *Revision) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.isCurrentLocked(revision)
}

func (b *Book[P]) isCurrentLocked(revision *Revision) bool {
	w := b.waves[revision.Rule]
	return w != nil && w.revision == revision
}

// Begin opens the wave of a revision with these parents. found are keys to be looked
// at besides when it is over; it becomes the book's. It returns what is ready at once.
func (b *Book[P]) Begin(revision *Revision, parents map[types.NamespacedName]Parent, found queue.Keys) (ready []queue.Key) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for name, known := range b.patches {
		if name.rule == revision.Rule && revision.Kinds[name.patch] != known.kind {
			delete(b.patches, name)
		}
	}
	w := &wave{revision: revision, pending: make(map[types.NamespacedName]bool, len(parents)), held: found}
	for name := range parents {
		w.pending[name] = true
	}
	for id, kind := range revision.Kinds {
		known := b.patchLocked(patchName{revision.Rule, id})
		known.kind = kind
		for target := range known.targets {
			w.held[queue.Key{Rule: revision.Rule, Patch: id, Parent: target}] = true
		}
		for name, parent := range parents {
			if before := known.parents[name]; before == nil || before.UID != parent.UID {
				known.set(name, &Contribution{Parent: parent, Open: true})
			}
		}
	}
	b.waves[revision.Rule] = w
	return w.end()
}

// end gives the keys that were held, if the wave is over.
func (w *wave) end() []queue.Key {
	if w == nil || len(w.pending) > 0 {
		return nil
	}
	held := slices.Collect(maps.Keys(w.held))
	clear(w.held)
	return held
}

// Looked notes that a parent was looked at, and gives the keys that are ready now.
func (b *Book[P]) Looked(parent queue.Key) (ready []queue.Key) {
	b.mu.Lock()
	defer b.mu.Unlock()
	w := b.waves[parent.Rule]
	if w == nil || len(w.pending) == 0 {
		return nil
	}
	delete(w.pending, parent.Parent)
	return w.end()
}

func (b *Book[P]) patchLocked(name patchName) *patch[P] {
	known := b.patches[name]
	if known == nil {
		known = &patch[P]{
			parents: make(map[types.NamespacedName]*Contribution), targets: make(map[types.NamespacedName]*target[P]),
			leaving: make(map[types.NamespacedName]int),
		}
		b.patches[name] = known
	}
	return known
}

// Set says what a parent contributes by a patch, and gives the targets for which that
// is news. What is not known now stays as it was before. now becomes the book's.
func (b *Book[P]) Set(parent queue.Key, id string, now *Contribution) (news []queue.Key) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now.known = now.isComplete()
	return keysOf(patchName{parent.Rule, id}, b.patchLocked(patchName{parent.Rule, id}).set(parent.Parent, now))
}

func keysOf(name patchName, targets map[types.NamespacedName]bool) []queue.Key {
	var keys []queue.Key
	for target := range targets {
		keys = append(keys, queue.Key{Rule: name.rule, Patch: name.patch, Parent: target})
	}
	return keys
}

// Drop ends all that a parent contributes, and gives the targets for which that is
// news.
func (b *Book[P]) Drop(parent queue.Key) (news []queue.Key) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for name, known := range b.patches {
		if name.rule == parent.Rule && known.parents[parent.Parent] != nil {
			changed := known.set(parent.Parent, nil)
			known.leave(parent.Parent, changed)
			news = append(news, keysOf(name, changed)...)
		}
	}
	return news
}

// AddKeys adds to found the parents of a rule that contribute something.
func (b *Book[P]) AddKeys(rule string, found queue.Keys) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for name, known := range b.patches {
		if name.rule != rule {
			continue
		}
		for parent := range known.parents {
			found[queue.Key{Rule: rule, Parent: parent}] = true
		}
	}
}

// IsLeaving tells whether nobody has looked yet at a target of a parent whose
// contributions were dropped. The parent is woken when somebody has; what could not be
// released then is tried again without it.
func (b *Book[P]) IsLeaving(parent queue.Key) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	for name, known := range b.patches {
		if name.rule == parent.Rule && known.leaving[parent.Parent] > 0 {
			return true
		}
	}
	return false
}

// ForgetRule drops what is known of a rule that stopped; its targets stay as they are.
func (b *Book[P]) ForgetRule(id string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.waves, id)
	maps.DeleteFunc(b.patches, func(name patchName, _ *patch[P]) bool { return name.rule == id })
}

// Collected is what is known of a target.
type Collected struct {
	// Parts are those of Parents, the oldest first.
	Parts   []*apply.Part
	Parents []types.NamespacedName
	// Pending is true during a wave, and Doubt names a parent of which it is not known
	// what it contributes.
	Pending bool
	Doubt   string

	change int // that of the target
}

// Collect begins a look at a target, which Finish ends: it gives what all parents
// contribute to it. It is false where another revision runs; then nothing has begun.
func (b *Book[P]) Collect(revision *Revision, target queue.Key) (Collected, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.isCurrentLocked(revision) {
		return Collected{}, false
	}
	name := patchOf(target)
	b.busy[name]++
	known := b.patchLocked(name)
	var out Collected
	if w := b.waves[target.Rule]; len(w.pending) > 0 {
		w.held[target] = true
		out.Pending = true
	}
	if t := known.targets[target.Parent]; t != nil {
		out.change = t.change
		out.Parents = slices.SortedFunc(maps.Keys(t.parents), func(a, b types.NamespacedName) int {
			return compareAge(known.parents[a], known.parents[b], a, b)
		})
	}
	for _, parent := range out.Parents {
		out.Parts = append(out.Parts, known.parents[parent].Parts[target.Parent])
	}
	for name, parent := range known.parents {
		if parent.isDoubtful() && (parent.Open || parent.Doubtful[target.Parent]) && (out.Doubt == "" || name.String() < out.Doubt) {
			out.Doubt = name.String()
		}
	}
	if out.Doubt != "" {
		known.target(target.Parent) // so that the end of the doubt leads here, also where nobody contributes
	}
	return out, true
}

// compareAge puts the older parent first.
func compareAge(a, b *Contribution, nameA, nameB types.NamespacedName) int {
	switch {
	case a.Created.Before(b.Created):
		return -1
	case b.Created.Before(a.Created):
		return 1
	}
	return strings.Compare(nameA.String(), nameB.String())
}

// IsBusy tells whether a target of the key's patch is being looked at.
func (b *Book[P]) IsBusy(k queue.Key) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.busy[patchOf(k)] > 0
}

// Contributes tells whether some parent contributes to a target.
func (b *Book[P]) Contributes(target queue.Key) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	known := b.patches[patchOf(target)]
	return known != nil && known.targets[target.Parent] != nil && len(known.targets[target.Parent].parents) > 0
}

// Finish ends the look at a target that Collect began: it notes what it came to, and
// what is in the way of single parents, and gives the parents for which that is news.
func (b *Book[P]) Finish(target queue.Key, saw Collected, came P, left map[types.NamespacedName]P) (news []queue.Key) {
	b.mu.Lock()
	defer b.mu.Unlock()
	name := patchOf(target)
	if b.busy[name]--; b.busy[name] <= 0 {
		delete(b.busy, name)
	}
	known := b.patches[name]
	if known == nil || known.targets[target.Parent] == nil || came.Passing() {
		return nil // the next look knows better
	}
	t := known.targets[target.Parent]
	t.note(came, left, saw.change)
	if t.isCurrent() {
		for parent := range t.waiters {
			news = append(news, queue.Key{Rule: target.Rule, Parent: parent})
		}
		clear(t.waiters)
		known.letGo(t)
	}
	if len(t.parents) == 0 && came.IsNone() {
		delete(known.targets, target.Parent)
	}
	return news
}

// State is how a parent's contribution to a target fares: what is in its way, if
// something is. Where nobody looked since it changed, known is false, and the parent
// is woken when somebody has.
func (b *Book[P]) State(parent queue.Key, id string, of types.NamespacedName) (found P, known bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	t := b.patchLocked(patchName{parent.Rule, id}).target(of)
	if !t.isCurrent() {
		t.waiters[parent.Parent] = true
		return found, false
	}
	if own, ok := t.left[parent.Parent]; ok && !own.IsNone() {
		return own, true
	}
	return t.problem, true
}
