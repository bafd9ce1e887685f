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
	// groups are those whose discovery began or ceased to fail.
	groups map[string]bool
}

func newNews(sources int) *news {
	return &news{
		signal:    make(chan struct{}, 1),
		snapshots: make([]source.Snapshot, sources),
		changed:   make(kindSet),
		groups:    make(map[string]bool),
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
	for _, group := range c.Groups {
		n.groups[group] = true
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

// take returns the newest snapshot of each source, and the kinds that changed and the
// groups of which discovery did, since the last call.
func (n *news) take() (snapshots []source.Snapshot, changed kindSet, groups map[string]bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	changed, groups = n.changed, n.groups
	n.changed, n.groups = make(kindSet), make(map[string]bool)
	return append([]source.Snapshot(nil), n.snapshots...), changed, groups
}
