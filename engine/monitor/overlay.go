package monitor

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/client-go/tools/cache"

	"kanon.dev/kanon/wire"
)

// overlay holds what is known of objects beyond what an informer's store shows:
// the answers of writes and live reads that its watch has not caught up with.
//
// It rests on one property of client-go's store: all changes of the resource up
// to LastStoreSyncResourceVersion, and none after it, are in the store. So an
// entry counts exactly while the store's version is lower than its own, whether
// the object still matches the selector or not and whether the watch delivered
// every change or listed anew. Where versions cannot be compared (an aggregated
// API server with versions of its own, or client-go's AtomicFIFO switched off)
// nothing is recorded: late knowledge is harmless, a state hidden for ever is not.
type overlay struct {
	namespace string          // "" for all
	selector  labels.Selector // nil when it does not parse: nothing is recorded
	store     cache.Indexer
	synced    func() bool // whether the store holds its first list

	// size is the number of entries, to be read without the lock: at rest it is
	// zero, and reads cost nothing more than the store's.
	size atomic.Int64

	// drops counts the entries ever dropped, so that a reader of the store can
	// tell whether the store caught up with one while it read.
	drops atomic.Int64

	// mu guards what follows, and makes a check of the store's version and the
	// change of an entry that depends on it one step.
	mu sync.Mutex
	// entries holds at most one entry per object name, as type entry, with the
	// same indexes as the store. Guarded by mu for writing.
	entries cache.ThreadSafeStore
	// sweepAt is the number of entries at which those that the store has caught
	// up with are looked for. Guarded by mu.
	sweepAt int64
}

// entry is the newest knowledge of the object of one name.
type entry struct {
	version string // well-formed
	// object is the object as it is, or nil when it is not in view.
	object *wire.Object
	// since is when the first of the entries in a row was recorded that the store has not caught up with.
	since time.Time
}

// minSweep keeps small overlays from being swept all the time.
const minSweep = 64

func newOverlay(key Key, informer cache.SharedIndexInformer, indexers cache.Indexers) *overlay {
	selector, err := labels.Parse(key.Selector)
	if err != nil {
		selector = nil // the API server refuses it too, and the watch's errors say so
	}
	return &overlay{
		namespace: key.Namespace,
		selector:  selector,
		store:     informer.GetIndexer(),
		synced:    informer.HasSynced,
		entries:   cache.NewThreadSafeStore(indexersOfEntries(indexers), cache.Indices{}),
		sweepAt:   minSweep,
	}
}

// indexersOfEntries makes indexers of objects work on the entries that hold them.
func indexersOfEntries(indexers cache.Indexers) cache.Indexers {
	wrapped := make(cache.Indexers, len(indexers))
	for name, index := range indexers {
		wrapped[name] = func(item any) ([]string, error) {
			e, ok := item.(entry)
			if !ok || e.object == nil {
				return nil, nil
			}
			return index(e.object)
		}
	}
	return wrapped
}

// observe records the object as the newest knowledge, unless the store or the
// overlay knows as much.
func (o *overlay) observe(obj *wire.Object) {
	outside := o.namespace != "" && o.namespace != obj.Namespace()
	if o.selector == nil || outside || !wellFormed(obj.ResourceVersion()) {
		return
	}
	e := entry{version: obj.ResourceVersion(), object: obj}
	if obj.IsStub() || !o.selector.Matches(labels.Set(obj.Head().GetLabels())) {
		e.object = nil
	}
	name := nameOf(obj)
	o.mu.Lock()
	defer o.mu.Unlock()
	old, ok := o.entryLocked(name)
	if ok && older(e.version, old.version) {
		return
	}
	if o.caughtUpLocked(e) {
		o.dropLocked(name)
		return
	}
	if e.since = time.Now(); ok && !o.caughtUpLocked(old) {
		e.since = old.since
	}
	o.putLocked(name, e)
	if o.size.Load() >= o.sweepAt {
		o.sweepLocked()
	}
}

// resolve returns the newest knowledge of the object of that name: what the
// store has, or what the overlay has when that is newer.
func (o *overlay) resolve(name string) (*wire.Object, bool) {
	if e, ok := o.current(name); ok {
		return e.object, e.object != nil
	}
	return o.stored(name)
}

// current returns the entry of that name if the store has not caught up with it,
// and drops it otherwise.
func (o *overlay) current(name string) (entry, bool) {
	if o.size.Load() == 0 {
		return entry{}, false
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	e, ok := o.entryLocked(name)
	if ok && o.caughtUpLocked(e) {
		o.dropLocked(name)
		return entry{}, false
	}
	return e, ok
}

// names lists the names that have an entry.
func (o *overlay) names() []string {
	if o.size.Load() == 0 {
		return nil
	}
	return o.entries.ListKeys()
}

// namesByIndex lists the names of the entries whose object has that value in
// that index.
func (o *overlay) namesByIndex(index, value string) []string {
	if o.size.Load() == 0 {
		return nil
	}
	names, _ := o.entries.IndexKeys(index, value) // fails for an unknown index only
	return names
}

// settle drops the entry of that name if the store has caught up with it, and tells whether there
// was one of just this state. It is called for each event.
func (o *overlay) settle(obj *wire.Object) (same bool) {
	if o.size.Load() == 0 {
		return false
	}
	name := nameOf(obj)
	o.mu.Lock()
	defer o.mu.Unlock()
	e, ok := o.entryLocked(name)
	if ok && o.caughtUpLocked(e) {
		o.dropLocked(name)
	}
	return ok && e.version == obj.ResourceVersion()
}

// tagOf is the tag of an object in view of which just this state was recorded.
func (o *overlay) tagOf(obj *wire.Object) (tag string, known bool) {
	if o.size.Load() == 0 {
		return "", false
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	e, ok := o.entryLocked(nameOf(obj))
	if !ok || e.object == nil || e.version != obj.ResourceVersion() || e.object.UID() != obj.UID() {
		return "", false
	}
	return e.object.Tag(), true
}

// awaitsEvent tells whether there is an object in view of which the store has an older state. One that is not in view may have
// no event.
func (o *overlay) awaitsEvent() bool {
	if o.size.Load() == 0 {
		return false
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.ContainsFunc(o.entries.ListKeys(), func(name string) bool {
		e, ok := o.entryLocked(name)
		return ok && e.object != nil && !o.caughtUpLocked(e)
	})
}

// sweepLocked drops all entries that the store has caught up with. The next
// sweep is due when as many again have come, so that the cost of sweeping is a
// constant for each entry recorded.
func (o *overlay) sweepLocked() {
	for _, name := range o.entries.ListKeys() {
		if e, ok := o.entryLocked(name); ok && o.caughtUpLocked(e) {
			o.dropLocked(name)
		}
	}
	o.sweepAt = max(minSweep, 2*o.size.Load())
}

// caughtUpLocked tells whether the store shows what the entry knows, or
// something newer. Once the store holds its first list, a store without a version
// that can be compared counts as caught up: nothing could ever end the entry.
func (o *overlay) caughtUpLocked(e entry) bool {
	// Asked first, because a store that syncs between the two questions must
	// not be taken for one without versions.
	synced := o.synced()
	version := o.store.LastStoreSyncResourceVersion()
	if !wellFormed(version) {
		return synced
	}
	return !older(version, e.version)
}

func (o *overlay) entryLocked(name string) (entry, bool) {
	item, found := o.entries.Get(name)
	if !found {
		return entry{}, false
	}
	e, ok := item.(entry)
	return e, ok
}

func (o *overlay) putLocked(name string, e entry) {
	if _, ok := o.entries.Get(name); !ok {
		o.size.Add(1)
	}
	o.entries.Update(name, e)
}

func (o *overlay) dropLocked(name string) {
	if _, ok := o.entries.Get(name); !ok {
		return
	}
	o.entries.Delete(name)
	o.drops.Add(1)
	o.size.Add(-1)
}

func (o *overlay) stored(name string) (*wire.Object, bool) {
	item, _, _ := o.store.GetByKey(name) // never fails
	obj, ok := item.(*wire.Object)
	if !ok || obj.IsStub() {
		return nil, false
	}
	return obj, true
}

// wellFormed tells whether a resource version can be compared with others.
func wellFormed(version string) bool {
	_, err := resourceversion.CompareResourceVersion(version, version)
	return err == nil
}

// older tells whether a is less than b; both must be well-formed.
func older(a, b string) bool {
	c, err := resourceversion.CompareResourceVersion(a, b)
	return err == nil && c < 0
}

// nameOf is the store's key of an object: namespace/name, or name alone.
func nameOf(obj *wire.Object) string {
	return cache.NewObjectName(obj.Namespace(), obj.Name()).String()
}
