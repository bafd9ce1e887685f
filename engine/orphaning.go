package engine

import (
	"maps"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"kanon.dev/kanon/engine/apply"
	"kanon.dev/kanon/engine/monitor"
	"kanon.dev/kanon/engine/queue"
)

// orphanings has the parents that were seen to be deleted with orphaning: all their
// children are to stay. The finalizer that says so is gone as soon as the garbage
// collector has done its part, while the rule's own may hold the parent still.
type orphanings struct {
	mu sync.Mutex
	// uids has the UID of the parent of each key. Guarded by mu.
	uids map[queue.Key]types.UID
}

func newOrphanings() *orphanings { return &orphanings{uids: make(map[queue.Key]types.UID)} }

// see takes in one event of a parent of a rule.
func (o *orphanings) see(rule string, event monitor.Event) {
	live := event.New.Head()
	orphaning := live != nil && live.GetDeletionTimestamp() != nil && apply.Has(live, metav1.FinalizerOrphanDependents)
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case orphaning:
		o.uids[keyAt(rule, event.New)] = event.New.UID()
	case event.New == nil && event.Old != nil:
		delete(o.uids, keyAt(rule, event.Old))
	}
}

func (o *orphanings) has(k queue.Key, uid types.UID) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.uids[k] == uid
}

func (o *orphanings) forget(k queue.Key) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.uids, k)
}

func (o *orphanings) forgetRule(id string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	maps.DeleteFunc(o.uids, func(k queue.Key, _ types.UID) bool { return k.Rule == id })
}

func (o *orphanings) addKeys(rule string, found queue.Keys) {
	o.mu.Lock()
	defer o.mu.Unlock()
	queue.AddOf(o.uids, rule, found)
}

// isOrphaning tells whether the parent, which is being deleted, is to leave all its
// children behind. Where the finalizer was not seen a child tells, which lost its
// reference: with a parent that is being deleted it was the garbage collector that took it.
func (p *pass) isOrphaning(telling []staleChild) bool {
	return len(telling) > 0 || apply.Has(p.parent, metav1.FinalizerOrphanDependents) || p.orphanings.has(p.key, p.parent.GetUID())
}

// lostReference tells whether a child of a parent to which it has no owner reference
// was given one.
func (p *pass) lostReference(child *unstructured.Unstructured) bool {
	owner, ok := p.marks.OwnerOf(child)
	return ok && !owner.Tracked
}
