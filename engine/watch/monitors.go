package watch

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/tools/cache"
)

// Key identifies one informer.
type Key struct {
	GVR schema.GroupVersionResource

	// Namespace limits the informer to one namespace. "" means all, and is required for a cluster-scoped resource.
	Namespace string

	// Selector is a label selector in string form; "" selects every object. Two spellings of one selector are two
	// keys, so build it with labels.Selector.String, which sorts.
	Selector string

	// Metadata is true if the API server is to send only apiVersion, kind and metadata of these objects.
	Metadata bool
}

// Event is one change in an informer's view. Old is nil if the object came into view, and New is nil if it left.
// Objects are decoded only when read.
type Event struct {
	Key Key
	Old *Object
	New *Object
}

// Newest returns the object as it is or, if it left the view, as it was.
func (e Event) Newest() *Object {
	return cmp.Or(e.New, e.Old)
}

// Tags returns the tags of the object before and after, without empty ones and each once.
func (e Event) Tags() []string {
	tags := slices.DeleteFunc([]string{e.Old.Tag(), e.New.Tag()}, func(tag string) bool { return tag == "" })
	return slices.Compact(tags)
}

// Lister lists and watches. *Client implements it.
type Lister interface {
	Objects(gvr schema.GroupVersionResource, namespace string) Resource
}

// Options configures Monitors. All but Indexers are required.
type Options struct {
	// Client lists and watches.
	Client Lister

	// Source, if set, is read in place of informers.
	Source Source

	// Handle is called for each event, without locks held. Events of one key come in order and one at a time, except
	// for the end of an observed object that no informer has shown; events of different keys come concurrently. It
	// must not block: usually it adds a key to a work queue. An event that was being delivered while Watch released
	// its key may still arrive.
	Handle func(Event)

	// Synced is called once for each informer that was started, after Handle has returned for its whole
	// first list.
	Synced func(Key)

	// Failed is called when an informer cannot list or watch, once for each reason in a row; Failure returns
	// the error. It must not block.
	Failed func(Key)

	// Requested is called for each list and watch that an informer begins. It must not block.
	Requested func(resource schema.GroupResource, verb string)

	// Tag is called when an object arrives and returns its tag. An object that is not in view is treated as
	// though it did not exist: only its identity is kept. The result must depend only on the object's identity, labels,
	// annotations and owner references: while these stay the same, Tag need not be called again until Relist.
	Tag func(Key, *Object) (tag string, inView bool)

	// Indexers, if set, are maintained by every informer and used by ByIndex. They get a *Object, several times
	// in its life, so they should use its Tag, which costs nothing to read.
	Indexers cache.Indexers
}

// keep returns what is kept of an object that arrived: a stub if it is not in view.
func (o *Options) keep(key Key, obj *Object) *Object {
	if obj == nil || obj.IsStub() {
		return obj
	}
	tag, inView := o.Tag(key, obj)
	if !inView {
		return obj.Stub()
	}
	return tagged(obj, tag)
}

// tagged returns the object with that tag.
func tagged(obj *Object, tag string) *Object {
	if tag == obj.Tag() {
		return obj
	}
	return obj.Tagged(tag)
}

// Monitors is a set of informers, each shared by the owners that want it. It is safe for concurrent use.
type Monitors struct {
	options Options

	// changed wakes Run; it buffers at most one signal.
	changed chan struct{}

	mu sync.RWMutex
	// wanted has the keys of each owner that has any. Guarded by mu.
	wanted map[string][]Key
	// monitors has exactly the keys that occur in wanted. Guarded by mu.
	monitors map[Key]*monitor
}

// New returns a set that watches nothing yet. Informers start once Run runs and an owner wants them.
func New(o Options) *Monitors {
	o.Indexers = indexersOf(o.Indexers, asObject)
	return &Monitors{
		options:  o,
		changed:  make(chan struct{}, 1),
		wanted:   map[string][]Key{},
		monitors: map[Key]*monitor{},
	}
}

// indexersOf wraps indexers so that they get what objectOf returns of an item. They skip objects that are missing or
// not in view.
func indexersOf(indexers cache.Indexers, objectOf func(item any) *Object) cache.Indexers {
	wrapped := make(cache.Indexers, len(indexers))
	for name, index := range indexers {
		wrapped[name] = func(item any) ([]string, error) {
			if obj := objectOf(item); obj != nil && !obj.IsStub() {
				return index(obj)
			}
			return nil, nil
		}
	}
	return wrapped
}

// Run starts and stops informers as Watch requires, until ctx ends. When it returns, all informers and their
// goroutines have ended. Call it once.
func (m *Monitors) Run(ctx context.Context) {
	var group sync.WaitGroup
	defer group.Wait()
	vanished := time.NewTicker(vanishedInterval)
	defer vanished.Stop()
	for {
		for _, mon := range m.unstarted() {
			mon.start(ctx, &group)
		}
		select {
		case <-ctx.Done():
			return
		case <-m.changed:
		case <-vanished.C:
			m.reportVanished()
		}
	}
}

// vanishedInterval is how often Run looks for observed objects whose end no informer shows. It sends no request.
const vanishedInterval = 5 * time.Second

// reportVanished calls Handle for observed objects that are gone and of which no informer has had any state.
func (m *Monitors) reportVanished() {
	m.mu.RLock()
	monitors := slices.Collect(maps.Values(m.monitors))
	m.mu.RUnlock()
	for _, mon := range monitors {
		for _, gone := range mon.overlay.vanished() {
			if mon.state.Load() == running {
				m.options.Handle(Event{Key: mon.key, Old: gone})
			}
		}
	}
}

// Watch replaces the set of keys that an owner wants; without keys it releases the owner. It does not wait: new
// informers start soon after. Informers that nobody wants any more stop: their objects are out of view at once, and
// their watches end soon after.
func (m *Monitors) Watch(owner string, keys ...Key) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(keys) == 0 {
		delete(m.wanted, owner)
	} else {
		m.wanted[owner] = slices.Clone(keys)
	}

	wanted := sets.New[Key]()
	for _, keys := range m.wanted {
		wanted.Insert(keys...)
	}
	for key, mon := range m.monitors {
		if !wanted.Has(key) {
			mon.stop()
			delete(m.monitors, key)
		}
	}
	for key := range wanted {
		if m.monitors[key] == nil {
			m.monitors[key] = newMonitor(key, m.options)
			m.signal()
		}
	}
}

// Restart replaces all informers of a resource by new ones that list again. Call it when a resource went away and
// came back under the same name: otherwise the informer notices only when its backoff allows the next retry, up to a
// minute later. No delete events are sent for the objects of the old informers.
func (m *Monitors) Restart(gvr schema.GroupVersionResource) {
	m.restart(func(key Key) bool { return key.GVR == gvr })
}

// Relist replaces the informers with a selector by new ones that list again. Call it when Options.Tag would
// decide otherwise than before.
func (m *Monitors) Relist(selector string) {
	m.restart(func(key Key) bool { return key.Selector == selector })
}

func (m *Monitors) restart(isMeant func(Key) bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for key, mon := range m.monitors {
		if isMeant(key) {
			mon.stop()
			m.monitors[key] = newMonitor(key, m.options)
			m.signal()
		}
	}
}

// signal makes Run start the informers that have not started.
func (m *Monitors) signal() {
	select {
	case m.changed <- struct{}{}:
	default:
	}
}

// unstarted returns the wanted informers that have not started.
func (m *Monitors) unstarted() []*monitor {
	m.mu.RLock()
	defer m.mu.RUnlock()
	var list []*monitor
	for _, mon := range m.monitors {
		if mon.isNew() {
			list = append(list, mon)
		}
	}
	return list
}
