package catalog

import (
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"

	"kanon.dev/kanon/engine/queue"
	"kanon.dev/kanon/engine/source"
	"kanon.dev/kanon/restmapping"
)

// KindSet is a set of kinds.
type KindSet = sets.Set[schema.GroupVersionKind]

// Changes are the changes of rules and kinds since the last update.
type Changes struct {
	// Snapshots has the newest snapshot of each source.
	Snapshots []source.Snapshot
	// Kinds has the kinds that were added, removed or changed.
	Kinds KindSet
	// Groups has the API groups whose discovery began to fail, or recovered.
	Groups sets.Set[string]
}

// Inbox collects changes, so that a burst of them becomes one update. It is safe for concurrent use.
type Inbox struct {
	bell *queue.Bell

	mu sync.Mutex
	// changes are those since the last Take. Guarded by mu.
	changes Changes
}

// NewInbox returns the inbox of a catalog with that many sources. The counter counts a pending update as work.
func NewInbox(counter *queue.Counter, sources int) *Inbox {
	return &Inbox{
		bell:    queue.NewBell(counter),
		changes: Changes{Snapshots: make([]source.Snapshot, sources), Kinds: make(KindSet), Groups: make(sets.Set[string])},
	}
}

// Bell returns the bell that rings while an update is due.
func (i *Inbox) Bell() *queue.Bell { return i.bell }

// PutSnapshot records the current snapshot of a source.
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

// Notify asks for an update because of something outside the inbox: an answer arrived, or the report on a rule may
// change.
func (i *Inbox) Notify() { i.bell.Ring() }

// Take returns the newest snapshots, and all other changes since the last call.
func (i *Inbox) Take() Changes {
	i.mu.Lock()
	defer i.mu.Unlock()
	taken := i.changes
	i.changes = Changes{Snapshots: slices.Clone(taken.Snapshots), Kinds: make(KindSet), Groups: make(sets.Set[string])}
	return taken
}
