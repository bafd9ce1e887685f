package catalog

import (
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"

	"kanon.dev/kanon/engine/activity"
	"kanon.dev/kanon/engine/source"
	"kanon.dev/kanon/kinds/restmapping"
)

// KindSet is a set of kinds.
type KindSet = sets.Set[schema.GroupVersionKind]

// Changes are what happened to rules and kinds since the last update.
type Changes struct {
	// Snapshots are the newest of all sources.
	Snapshots []source.Snapshot
	// Kinds were added, removed or changed.
	Kinds KindSet
	// Groups have begun to fail in discovery, or fail no more.
	Groups sets.Set[string]
}

// Inbox collects changes, so that a burst of them is one update. It may be used by several
// goroutines.
type Inbox struct {
	bell *activity.Bell

	mu sync.Mutex
	// changes are those that nobody has taken. Guarded by mu.
	changes Changes
}

// NewInbox makes the inbox of a catalog with so many sources. An update that is due counts as work.
func NewInbox(counter *activity.Counter, sources int) *Inbox {
	return &Inbox{
		bell:    activity.NewBell(counter),
		changes: Changes{Snapshots: make([]source.Snapshot, sources), Kinds: make(KindSet), Groups: make(sets.Set[string])},
	}
}

// Bell is rung while an update is due.
func (i *Inbox) Bell() *activity.Bell { return i.bell }

// PutSnapshot records what a source has now.
func (i *Inbox) PutSnapshot(of int, s source.Snapshot) {
	i.mu.Lock()
	i.changes.Snapshots[of] = s
	i.mu.Unlock()
	i.Notify()
}

// PutKinds records that kinds were added, removed or changed.
func (i *Inbox) PutKinds(c restmapping.Change) {
	i.mu.Lock()
	i.changes.Kinds.Insert(slices.Concat(c.Added, c.Removed, c.Changed)...)
	i.changes.Groups.Insert(c.Groups...)
	i.mu.Unlock()
	i.Notify()
}

// Notify asks for an update because of something that is not in the inbox: an answer that
// arrived, or a rule whose report may change.
func (i *Inbox) Notify() { i.bell.Ring() }

// Take returns the newest snapshots, and all other changes since the last call.
func (i *Inbox) Take() Changes {
	i.mu.Lock()
	defer i.mu.Unlock()
	taken := i.changes
	i.changes = Changes{Snapshots: slices.Clone(taken.Snapshots), Kinds: make(KindSet), Groups: make(sets.Set[string])}
	return taken
}
