package engine

import (
	"sync"

	"kanon.dev/kanon/engine/source"
	"kanon.dev/kanon/restmapping"
)

// news collects what happened to rules and kinds since the catalog last
// looked, so that a burst is taken in at once.
type news struct {
	// signal holds a token while there is something to take.
	signal chan struct{}

	mu        sync.Mutex
	snapshots []source.Snapshot // the newest of each source
	changed   kindSet
}

func newNews(sources int) *news {
	return &news{
		signal:    make(chan struct{}, 1),
		snapshots: make([]source.Snapshot, sources),
		changed:   make(kindSet),
	}
}

// addSnapshot records what source i holds now.
func (n *news) addSnapshot(i int, s source.Snapshot) {
	n.mu.Lock()
	n.snapshots[i] = s
	n.mu.Unlock()
	n.ring()
}

// addChange records that kinds came, went or changed.
func (n *news) addChange(c restmapping.Change) {
	n.mu.Lock()
	for _, gvk := range c.Added {
		n.changed[gvk] = true
	}
	for _, gvk := range c.Removed {
		n.changed[gvk] = true
	}
	for _, gvk := range c.Changed {
		n.changed[gvk] = true
	}
	n.mu.Unlock()
	n.ring()
}

func (n *news) ring() {
	select {
	case n.signal <- struct{}{}:
	default: // it is ringing already
	}
}

// take returns the newest snapshot of each source, and the kinds that changed
// since the last call.
func (n *news) take() ([]source.Snapshot, kindSet) {
	n.mu.Lock()
	defer n.mu.Unlock()
	changed := n.changed
	n.changed = make(kindSet)
	return append([]source.Snapshot(nil), n.snapshots...), changed
}
