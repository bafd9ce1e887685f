package monitor

import (
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/client-go/tools/cache"

	"kanon.dev/kanon/wire"
)

// overlay has the answers of writes and live reads that an informer's watch has not caught up with.
//
// It relies on one property of client-go's store: the store has all changes of the resource up to
// LastStoreSyncResourceVersion, and none after. So an entry counts exactly while the store's version is lower than
// its own, whether or not the object still matches the selector, and whether the watch delivered every change or
// listed again. Where versions cannot be compared (an aggregated API server with its own versions, or client-go's
// AtomicFIFO disabled) nothing is recorded: a late state is harmless, a state that stays hidden for ever is not.
type overlay struct {
	namespace string          // "" for all
	selector  labels.Selector // nil if it does not parse: then nothing is recorded
	store     cache.Indexer
	synced    func() bool // whether the store has its first list

	// size is the number of entries, readable without the lock. At rest it is zero, and reads cost no more than those
	// of the store.
	size atomic.Int64

	// drops counts all entries ever dropped, so that a reader of the store can detect that the store caught up with
	// one while it read.
	drops atomic.Int64

	// mu guards what follows. It also makes checking the store's version and changing the entry that depends on it
	// one step.
	mu sync.Mutex
	// entries has at most one value of type entry per object name, with the store's indexes. Guarded by mu for
	// writing.
	entries cache.ThreadSafeStore
	// sweepAt is the number of entries that triggers a sweep. Guarded by mu.
	sweepAt int64
}

// entry is the newest known state of an object.
type entry struct {
	version string // well-formed
	// object is nil if the object is not in view.
	object *wire.Object
	// since is when the first of the current row of entries was recorded that the store has not caught up with.
	since time.Time
}

// minSweep keeps small overlays from being swept constantly.
const minSweep = 64

func newOverlay(key Key, informer cache.SharedIndexInformer, indexers cache.Indexers) *overlay {
	selector, err := labels.Parse(key.Selector)
	if err != nil {
		selector = nil // the API server refuses it too, as the watch reports
	}
	return &overlay{
		namespace: key.Namespace,
		selector:  selector,
		store:     informer.GetIndexer(),
		synced:    informer.HasSynced,
		entries:   cache.NewThreadSafeStore(indexersOf(indexers, objectOf), cache.Indices{}),
		sweepAt:   minSweep,
	}
}

// objectOf returns the object of an item of the entries; nil if it is not in view.
func objectOf(item any) *wire.Object {
	e, _ := item.(entry)
	return e.object
}

// observe records the object, unless the store or the overlay knows this state or a newer one.
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
	if o.isPastLocked(name, e) {
		return
	}
	old, ok := o.entryLocked(name)
	if e.since = time.Now(); ok && !o.caughtUpLocked(old) {
		e.since = old.since
	}
	o.putLocked(name, e)
	if o.size.Load() >= o.sweepAt {
		o.sweepLocked()
	}
}

// isPast reports whether the store knows this state or the store or the overlay a newer one, so that observe would record
// nothing. As observe does, it drops an older entry of the object that the store has caught up with.
func (o *overlay) isPast(obj *wire.Object) bool {
	if !wellFormed(obj.ResourceVersion()) {
		return false
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.isPastLocked(nameOf(obj), entry{version: obj.ResourceVersion()})
}

// isPastLocked is isPast for an entry.
func (o *overlay) isPastLocked(name string, e entry) bool {
	if old, ok := o.entryLocked(name); ok && older(e.version, old.version) {
		return true
	}
	if !o.caughtUpLocked(e) {
		return false
	}
	o.dropLocked(name)
	return true
}

// resolve returns the newest known state of an object: that of the overlay, if it is newer, or that of the store.
func (o *overlay) resolve(name string) (*wire.Object, bool) {
	if e, ok := o.current(name); ok {
		return e.object, e.object != nil
	}
	return o.stored(name)
}

// current returns the entry of an object. If the store has caught up with the entry, current drops it instead.
func (o *overlay) current(name string) (entry, bool) {
	if o.size.Load() == 0 {
		return entry{}, false
	}
	e, found, dropped := o.refresh(name)
	return e, found && !dropped
}

// refresh returns the entry of an object, and drops it if the store has caught up with it.
func (o *overlay) refresh(name string) (e entry, found, dropped bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if e, found = o.entryLocked(name); found && o.caughtUpLocked(e) {
		o.dropLocked(name)
		dropped = true
	}
	return e, found, dropped
}

// settle drops the entry of an object if the store has caught up with it, and reports whether the entry had exactly
// this state. It is called for each event.
func (o *overlay) settle(obj *wire.Object) (same bool) {
	if o.size.Load() == 0 {
		return false
	}
	e, found, _ := o.refresh(nameOf(obj))
	return found && e.version == obj.ResourceVersion()
}

// tagOf returns the tag of an object in view if exactly this state was recorded.
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

// oldest returns since when the store has had an older state of some recorded object in view; zero if there is none. An
// object out of view may never have an event.
func (o *overlay) oldest() (since time.Time) {
	if o.size.Load() == 0 {
		return since
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, name := range o.entries.ListKeys() {
		if e, ok := o.entryLocked(name); ok && e.object != nil && (since.IsZero() || e.since.Before(since)) && !o.caughtUpLocked(e) {
			since = e.since
		}
	}
	return since
}

// sweepLocked drops all entries that the store has caught up with. The next sweep is due when the number of entries
// has doubled, so that sweeping costs a constant per recorded entry.
func (o *overlay) sweepLocked() {
	for _, name := range o.entries.ListKeys() {
		if e, ok := o.entryLocked(name); ok && o.caughtUpLocked(e) {
			o.dropLocked(name)
		}
	}
	o.sweepAt = max(minSweep, 2*o.size.Load())
}

// caughtUpLocked reports whether the store has the state of the entry or a newer one. A store that has its first list
// but no comparable version counts as caught up: otherwise nothing would ever end the entry.
func (o *overlay) caughtUpLocked(e entry) bool {
	// synced is read first: a store that syncs between the two reads must not be mistaken for one without versions.
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

// wellFormed reports whether a resource version can be compared with others.
func wellFormed(version string) bool {
	_, err := resourceversion.CompareResourceVersion(version, version)
	return err == nil
}

// older reports whether a is less than b; both must be well-formed.
func older(a, b string) bool {
	c, err := resourceversion.CompareResourceVersion(a, b)
	return err == nil && c < 0
}

// nameOf returns the store's key of an object: namespace/name, or the name alone.
func nameOf(obj *wire.Object) string {
	return cache.NewObjectName(obj.Namespace(), obj.Name()).String()
}
