package watch

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/client-go/tools/cache"
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
	object *Object
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
func objectOf(item any) *Object {
	e, _ := item.(entry)
	return e.object
}

// observe records the object, unless the store or the overlay knows this state or a newer one.
func (o *overlay) observe(obj *Object) {
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
func (o *overlay) isPast(obj *Object) bool {
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
	o.dropShownLocked(name)
	return true
}

// resolve returns the newest known state of an object: that of the overlay, if it is newer, or that of the store.
func (o *overlay) resolve(name string) (*Object, bool) {
	if e, ok := o.current(name); ok {
		return e.object, e.object != nil
	}
	return o.stored(name)
}

// current returns the entry of an object, unless the store has caught up with it.
func (o *overlay) current(name string) (entry, bool) {
	if o.size.Load() == 0 {
		return entry{}, false
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	e, found := o.entryLocked(name)
	if found && o.caughtUpLocked(e) {
		o.dropShownLocked(name)
		return entry{}, false
	}
	return e, found
}

// settle drops the entry of an object if the store has caught up with it. It is called for each event.
func (o *overlay) settle(obj *Object) {
	if o.size.Load() == 0 {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if e, found := o.entryLocked(nameOf(obj)); found && o.caughtUpLocked(e) {
		o.dropLocked(nameOf(obj))
	}
}

// vanished drops the entries with which the store has caught up, and returns the objects in view among them that it does
// not have in view. The informer sends no event about the end of an object that it never had, as when it lists again
// after the object was created and deleted.
func (o *overlay) vanished() (gone []*Object) {
	if o.size.Load() == 0 {
		return nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, name := range o.entries.ListKeys() {
		if e, ok := o.entryLocked(name); ok && o.caughtUpLocked(e) {
			if !o.isShown(name, e) {
				gone = append(gone, e.object)
			}
			o.dropLocked(name)
		}
	}
	return gone
}

// isShown reports whether the store has the object of an entry in view, or the entry is out of view.
func (o *overlay) isShown(name string, e entry) bool {
	_, stored := o.stored(name)
	return stored || e.object == nil
}

// tagOf returns the tag of an object in view if exactly this state was recorded.
func (o *overlay) tagOf(obj *Object) (tag string, known bool) {
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

// list returns the objects that stored lists and the entries that overlaid names, each in its newest known state,
// sorted by namespace and name.
func (o *overlay) list(stored func() []any, overlaid func() []string) []*Object {
	var list []*Object
	isCurrent := func(string) bool { return false }
	if o.size.Load() > 0 {
		// No entry is dropped meanwhile, and all are compared with the version that the store had before it was read:
		// what it lists may lack the state of an entry that it has caught up with since.
		o.mu.Lock()
		defer o.mu.Unlock()
		caughtUp := o.caughtUp()
		isCurrent = func(name string) bool {
			e, ok := o.entryLocked(name)
			return ok && !caughtUp(e)
		}
		for _, name := range overlaid() {
			if e, _ := o.entryLocked(name); isCurrent(name) && e.object != nil {
				list = append(list, e.object)
			}
		}
	}
	for _, item := range stored() {
		if obj, ok := item.(*Object); ok && !obj.IsStub() && !isCurrent(nameOf(obj)) {
			list = append(list, obj)
		}
	}
	slices.SortFunc(list, compareNames)
	return list
}

// sweepLocked drops all entries that the store has caught up with. The next sweep is due when the number of entries
// has doubled, so that sweeping costs a constant per recorded entry.
func (o *overlay) sweepLocked() {
	for _, name := range o.entries.ListKeys() {
		if e, ok := o.entryLocked(name); ok && o.caughtUpLocked(e) {
			o.dropShownLocked(name)
		}
	}
	o.sweepAt = max(minSweep, 2*o.size.Load())
}

// caughtUpLocked reports whether the store has the state of the entry or a newer one.
func (o *overlay) caughtUpLocked(e entry) bool { return o.caughtUp()(e) }

// caughtUp returns a function that reports whether the store, as it is now, has the state of an entry or a newer one. A
// store that has its first list but no comparable version counts as caught up: otherwise nothing would ever end the
// entry.
func (o *overlay) caughtUp() func(entry) bool {
	// synced is read first: a store that syncs between the two reads must not be mistaken for one without versions.
	synced := o.synced()
	version := o.store.LastStoreSyncResourceVersion()
	return func(e entry) bool {
		if !wellFormed(version) {
			return synced
		}
		return !older(version, e.version)
	}
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

// dropShownLocked drops an entry with which the store has caught up, unless vanished has yet to return its object.
func (o *overlay) dropShownLocked(name string) {
	if e, ok := o.entryLocked(name); ok && o.isShown(name, e) {
		o.dropLocked(name)
	}
}

func (o *overlay) dropLocked(name string) {
	if _, ok := o.entries.Get(name); !ok {
		return
	}
	o.entries.Delete(name)
	o.size.Add(-1)
}

func (o *overlay) stored(name string) (*Object, bool) {
	item, _, _ := o.store.GetByKey(name) // never fails
	obj, ok := item.(*Object)
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
func nameOf(obj *Object) string {
	return cache.NewObjectName(obj.Namespace(), obj.Name()).String()
}

func compareNames(a, b *Object) int {
	return cmp.Or(strings.Compare(a.Namespace(), b.Namespace()), strings.Compare(a.Name(), b.Name()))
}
