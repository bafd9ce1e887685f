package engine

import (
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"kanon.dev/kanon/engine/apply"
	"kanon.dev/kanon/engine/monitor"
)

// orphanings has the parents that were seen to be deleted with orphaning: all their
// children are to stay. The finalizer that says so is gone as soon as the garbage
// collector has done its part, while the rule's own may hold the parent still.
type orphanings struct {
	mu   sync.Mutex
	uids map[types.UID]bool // guarded by mu
}

func newOrphanings() *orphanings { return &orphanings{uids: make(map[types.UID]bool)} }

// see takes in one event of a parent.
func (o *orphanings) see(event monitor.Event) {
	live := event.New.Head()
	orphaning := live != nil && live.GetDeletionTimestamp() != nil && apply.Has(live, metav1.FinalizerOrphanDependents)
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case orphaning:
		o.uids[event.New.UID()] = true
	case event.New == nil && event.Old != nil:
		delete(o.uids, event.Old.UID())
	}
}

func (o *orphanings) has(uid types.UID) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.uids[uid]
}

// isOrphaning tells whether the parent, which is being deleted, is to leave all its
// children behind. Where the finalizer was not seen a child tells, which lost its
// reference: with a parent that is being deleted it was the garbage collector that took it.
func (p *pass) isOrphaning(telling []staleChild) bool {
	return len(telling) > 0 || apply.Has(p.parent, metav1.FinalizerOrphanDependents) || p.orphanings.has(p.parent.GetUID())
}

// lostReference tells whether a child of a parent to which it has no owner reference
// was given one.
func (p *pass) lostReference(child *unstructured.Unstructured) bool {
	owner, ok := p.marks.OwnerOf(child)
	return ok && !owner.Tracked
}
