package engine

import (
	"maps"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"kanon.dev/kanon/engine/apply"
	"kanon.dev/kanon/engine/catalog"
	"kanon.dev/kanon/engine/queue"
	"kanon.dev/kanon/wire"
)

// maxHeld bounds how many objects are listed that a held revision would delete.
const maxHeld = 10

// guard keeps a new revision of a rule from deleting by mistake. While every parent is
// looked at once, what is to be deleted is collected and nothing is deleted. Once all
// have been, and it is little enough, the rule's record says that the revision may
// delete, and from then on nothing is collected any more: what goes then goes because
// of what happened to its parent. A parent that has nothing to lose to the revision is
// free at once.
type guard struct {
	// revision is the rule's, and seen has the kinds whose objects are seen: those of its
	// children, and those that it dropped.
	revision string
	seen     catalog.KindSet
	limit    int
	// released is true once the record says that the revision may delete, and asked
	// once it is to say so.
	released, asked bool
	// looked is true once judge saw that every parent had been looked at.
	looked bool
	// pending has the parents that were not looked at yet, doubtful those of which it
	// is not known what they would lose, with what it is at the most, and doomed those
	// of which it is, with what it is. No parent is in two of them.
	pending  queue.Keys
	doubtful map[queue.Key][]apply.Ref
	doomed   map[queue.Key][]apply.Ref
	// counts are those of the objects in doubtful and doomed.
	mayGo, wouldGo tallyOf
}

// tallyOf counts objects, and those among them that are never deleted unasked.
type tallyOf struct{ all, grave int }

func (t *tallyOf) add(refs []apply.Ref, sign int) {
	t.all += sign * len(refs)
	for _, ref := range refs {
		if isGrave(ref) {
			t.grave += sign
		}
	}
}

// isGrave tells whether more is lost with an object than the object.
func isGrave(ref apply.Ref) bool {
	switch (schema.GroupKind{Group: ref.Group, Kind: ref.Kind}) {
	case schema.GroupKind{Kind: "PersistentVolumeClaim"}, schema.GroupKind{Kind: "Namespace"},
		schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}:
		return true
	}
	return false
}

// drop takes a parent out of the guard.
func (g *guard) drop(k queue.Key) {
	delete(g.pending, k)
	if refs, ok := g.doubtful[k]; ok {
		g.mayGo.add(refs, -1)
		delete(g.doubtful, k)
	}
	if refs, ok := g.doomed[k]; ok {
		g.wouldGo.add(refs, -1)
		delete(g.doomed, k)
	}
}

// holds tells whether a parent is one that the guard has an eye on.
func (g *guard) holds(k queue.Key) bool {
	_, doubtful := g.doubtful[k]
	_, doomed := g.doomed[k]
	return g.pending[k] || doubtful || doomed
}

// clear tells whether the revision may delete.
func (g *guard) clear(confirmed bool) bool {
	switch {
	case confirmed:
		return true
	case len(g.pending) > 0 || g.wouldGo.grave+g.mayGo.grave > 0:
		return false
	default:
		return g.wouldGo.all+g.mayGo.all <= g.limit
	}
}

// guards holds the guard of each rule that runs.
type guards struct {
	mu     sync.Mutex
	byRule map[string]*guard
	// confirmed has, by the rule's id, the revisions that may delete what they would.
	confirmed map[string][]string
}

func newGuards() *guards {
	return &guards{byRule: make(map[string]*guard), confirmed: make(map[string][]string)}
}

// of is the guard of an operator; nil where there is none for its revision. The
// caller has the lock.
func (s *guards) ofLocked(op *operator) *guard {
	g := s.byRule[op.id]
	if g == nil || g.revision != op.program.Hash() {
		return nil
	}
	for kind := range op.childKinds() {
		if !g.seen.Has(kind.GVK) {
			return nil
		}
	}
	return g
}

// guard begins to keep an eye on a rule's parents, unless that was done for this
// revision already. What may delete according to the record is free.
func (e *Engine) guard(op *operator, keys queue.Keys) {
	e.guards.mu.Lock()
	if e.isCurrent(op) && e.guards.ofLocked(op) == nil {
		g := &guard{
			revision: op.program.Hash(), seen: make(catalog.KindSet), limit: op.program.PruneLimit(),
			doubtful: make(map[queue.Key][]apply.Ref), doomed: make(map[queue.Key][]apply.Ref),
		}
		for kind := range op.childKinds() {
			g.seen.Insert(kind.GVK)
		}
		if g.released = e.mayDelete(op); !g.released {
			g.pending = maps.Clone(keys)
		}
		e.guards.byRule[op.id] = g
	}
	e.guards.mu.Unlock()
	e.judge(op)
}

// mayDelete tells whether the record says that the operator's revision may delete, of
// all kinds of which it sees objects.
func (e *Engine) mayDelete(op *operator) bool {
	stored, ok := e.records.stored(op.id)
	if !ok || stored.Revision != op.program.Hash() {
		return false
	}
	for gvk := range op.retired {
		if i := indexOfKind(stored.Children, gvk); i >= 0 && stored.Children[i].Revision != stored.Revision {
			return false
		}
	}
	for gvk := range op.children {
		if i := indexOfKind(stored.Children, gvk); i >= 0 && stored.Children[i].Unseen {
			return false
		}
	}
	return true
}

// decide tells whether objects may be deleted now that a rule has no use for any more
// with a parent.
func (e *Engine) decide(op *operator, k queue.Key, refs []apply.Ref) bool {
	e.guards.mu.Lock()
	g := e.guards.ofLocked(op)
	if g == nil {
		e.guards.mu.Unlock()
		return false // the rule is about to begin, and wakes all parents
	}
	if g.released || !g.holds(k) {
		e.guards.mu.Unlock()
		return true
	}
	g.drop(k)
	if len(refs) > 0 {
		g.doomed[k] = refs
		g.wouldGo.add(refs, 1)
	}
	e.guards.mu.Unlock()
	e.judge(op)
	return len(refs) == 0
}

// doubt notes that it is not known what a parent would lose to the revision; at the
// most it is refs. It tells whether the parent's objects may be deleted all the same.
func (e *Engine) doubt(op *operator, k queue.Key, refs []apply.Ref) bool {
	e.guards.mu.Lock()
	g := e.guards.ofLocked(op)
	if g == nil || g.released || !g.holds(k) {
		e.guards.mu.Unlock()
		return g != nil
	}
	g.drop(k)
	if len(refs) > 0 {
		g.doubtful[k] = refs
		g.mayGo.add(refs, 1)
	}
	e.guards.mu.Unlock()
	e.judge(op)
	return len(refs) == 0
}

// isFree tells whether the operator's revision may delete.
func (e *Engine) isFree(op *operator) bool {
	e.guards.mu.Lock()
	defer e.guards.mu.Unlock()
	g := e.guards.ofLocked(op)
	return g != nil && g.released
}

// mayRecreate tells whether an object of a parent may be deleted to be made anew, as far
// as the revision is concerned. held is true where it has to wait until somebody acts.
func (e *Engine) mayRecreate(op *operator, k queue.Key) (may, held bool) {
	e.guards.mu.Lock()
	defer e.guards.mu.Unlock()
	g := e.guards.ofLocked(op)
	switch {
	case g == nil:
		return false, false // the rule is about to begin, and wakes all parents
	case g.released || !g.holds(k):
		return true, false
	default:
		return false, g.looked && !g.asked
	}
}

// excuse takes a parent that is gone out of the guard.
func (e *Engine) excuse(op *operator, k queue.Key) {
	e.guards.mu.Lock()
	g := e.guards.ofLocked(op)
	if g == nil || g.released || !g.holds(k) {
		e.guards.mu.Unlock()
		return
	}
	g.drop(k)
	e.guards.mu.Unlock()
	e.judge(op)
}

// judge has the record say that the revision may delete once that is clear, and lets it
// delete once the record says so.
func (e *Engine) judge(op *operator) {
	e.guards.mu.Lock()
	g := e.guards.ofLocked(op)
	if g == nil || g.released {
		e.guards.mu.Unlock()
		return
	}
	confirmed := slices.Contains(e.guards.confirmed[op.id], g.revision)
	looked := len(g.pending) == 0
	free := g.clear(confirmed)
	ask := free && !g.asked
	g.asked = g.asked || free
	var freed []queue.Key // and others to look at again
	if g.asked && e.mayDelete(op) {
		g.released = true
		freed = slices.AppendSeq(slices.Collect(maps.Keys(g.doomed)), maps.Keys(g.doubtful))
		g.pending, g.doubtful, g.doomed = nil, nil, nil
	}
	first := looked && !g.looked
	g.looked = looked
	if first && !g.asked {
		freed = slices.Collect(maps.Keys(g.doomed)) // to say what they wait for
	}
	held := looked && g.wouldGo.all > 0
	e.guards.mu.Unlock()
	if ask {
		e.allow(op)
	}
	for _, k := range freed {
		e.queue.Add(k)
	}
	if held || looked && ask {
		e.inbox.Notify() // what is said of the rule may change
	}
	if first {
		e.wakeRemovals(op)
	}
}

// allow asks for the record to say that the operator's revision may delete.
func (e *Engine) allow(op *operator) {
	e.records.wantFrom(op.id, func() bool { return e.isCurrentRevision(op) }, e.acted(op))
}

// acted has a record say that the operator's revision may delete. Kinds that the rule
// has no more, and of which nothing is left, are forgotten. Of kinds that are missing now,
// nobody knows what the revision would delete: that is asked when they are back.
func (e *Engine) acted(op *operator) func(*ruleRecord) {
	left, absent := make(map[schema.GroupVersionKind]bool), slices.Clone(op.absent)
	for gvk, kind := range op.retired {
		left[gvk] = slices.ContainsFunc(e.monitors.Unread(op.childKey(kind.GVR)), func(child *wire.Object) bool { return ruleOfTag(child) == op.id })
	}
	return func(r *ruleRecord) {
		r.Revision = op.program.Hash()
		r.Children = slices.DeleteFunc(r.Children, func(kind recordedKind) bool {
			some, retired := left[kind.gvk()]
			return retired && !some
		})
		for i := range r.Children {
			if left[r.Children[i].gvk()] {
				r.Children[i].Revision = r.Revision
			}
			r.Children[i].Unseen = slices.Contains(absent, r.Children[i].gvk())
		}
	}
}

// confirm notes which revisions of a rule its author has confirmed.
func (e *Engine) confirm(op *operator, revisions []string) {
	e.guards.mu.Lock()
	e.guards.confirmed[op.id] = revisions
	e.guards.mu.Unlock()
	e.judge(op)
}

// looked tells whether every parent of a rule has been looked at since its revision
// began.
func (e *Engine) looked(op *operator) bool {
	e.guards.mu.Lock()
	defer e.guards.mu.Unlock()
	g := e.guards.ofLocked(op)
	return g != nil && len(g.pending) == 0
}

// forgetRule drops the guard of a rule that stopped.
func (s *guards) forgetRule(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.byRule, id)
	delete(s.confirmed, id)
}

// held says, by the rule's id, what a revision would delete and must not without being
// confirmed.
func (s *guards) held() map[string]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	found := make(map[string]string)
	for id, g := range s.byRule {
		if !g.released && !g.asked && len(g.pending) == 0 && g.wouldGo.all > 0 {
			found[id] = g.message()
		}
	}
	return found
}
