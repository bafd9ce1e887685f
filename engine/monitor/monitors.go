package monitor

import (
	"context"
	"errors"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/cache"

	"kanon.dev/kanon/wire"
)

// Key names one informer.
type Key struct {
	GVR schema.GroupVersionResource

	// Namespace limits the informer to one namespace; "" means all, and is the
	// only choice for a cluster-scoped resource.
	Namespace string

	// Selector is a label selector in string form; "" selects every object.
	// Two spellings of one selector are two keys, so build it with
	// labels.Selector.String, which sorts.
	Selector string

	// Heads says that nobody asks for the content of these objects: of one that is
	// large nothing is kept but apiVersion, kind and metadata.
	Heads bool

	// Metadata says that the API server sends no more of these objects than apiVersion, kind and
	// metadata.
	Metadata bool
}

// large is from how many bytes on an object is cut whose content nobody asks for. A
// head has one or two KiB, and whoever writes to an object that was cut has to read it
// first: that is worth it where the content is several times the head.
const large = 16 << 10

// kept is what is kept of an object.
func (k Key) kept(obj *wire.Object) *wire.Object {
	if k.Heads && obj.Exceeds(large) {
		return obj.Cut()
	}
	return obj
}

// Event is one change of an object in an informer's view. Old is nil when the
// object came into view and New is nil when it left. They are read when somebody asks,
// and may have no more than apiVersion, kind and metadata; Whole has the rest.
type Event struct {
	Key Key
	Old *wire.Object
	New *wire.Object
	// Answered is true where New is what was observed just before, as the answer of a write.
	// It may be false for such a one too, so nothing but an order may depend on it.
	Answered bool
}

// Whole is the object as it was and as it is, with its content; false where that is not
// kept of both.
func (e Event) Whole() (before, after *unstructured.Unstructured, ok bool) {
	if !e.Old.IsWhole() || !e.New.IsWhole() {
		return nil, nil, false
	}
	return e.Old.Tree(), e.New.Tree(), true
}

// Newest is the object as it is or, where it left, as it was.
func (e Event) Newest() *wire.Object {
	if e.New != nil {
		return e.New
	}
	return e.Old
}

// Client lists and watches. *wire.Client implements it.
type Client interface {
	Objects(gvr schema.GroupVersionResource, namespace string) wire.Resource
}

// Options tells Monitors how to watch and whom to tell. Client and Handle are
// required.
type Options struct {
	// Client lists and watches.
	Client Client

	// Handle is called for each event, outside locks; events of one key come in
	// order and one at a time, events of different keys at the same time. It
	// must not block: usually it adds a key to a work queue. An event that was
	// being handed over while Watch released its key may still arrive.
	Handle func(Event)

	// Synced, if set, is called once for each informer that was started, after
	// Handle has returned for every object of its first list.
	Synced func(Key)

	// Failed, if set, is called when an informer cannot list or watch, once for
	// each reason in a row; Failure then says why. It must not block.
	Failed func(Key)

	// Requested, if set, is called for each list and watch that an informer begins. It must not block.
	Requested func(resource schema.GroupResource, verb string)

	// Tag, if set, says of an object, when it comes, what its Tag is from then on. An
	// object that is not in view is treated as though it did not exist, and nothing of
	// it is kept but its identity.
	Tag func(Key, *wire.Object) (tag string, inView bool)

	// Indexers, if set, are kept by every informer and are asked by ByIndex. They
	// are given each object as a *wire.Object, several times in its life: its Tag is
	// what costs nothing.
	Indexers cache.Indexers
}

func (o *Options) requested(key Key, verb string) {
	if o.Requested != nil {
		o.Requested(key.GVR.GroupResource(), verb)
	}
}

// keep makes of an object that came what is kept of it.
func (o *Options) keep(key Key, obj *wire.Object) *wire.Object {
	if obj == nil || o.Tag == nil || obj.IsStub() {
		return key.kept(obj)
	}
	tag, inView := o.Tag(key, obj)
	if !inView {
		return obj.Stub()
	}
	return tagged(key.kept(obj), tag)
}

// tagged gives an object its tag, perhaps not for the first time.
func tagged(obj *wire.Object, tag string) *wire.Object {
	if tag == obj.Tag() {
		return obj
	}
	return obj.Tagged(tag)
}

// Monitors is a set of informers, each shared by the owners that want it. All
// methods are safe for concurrent use.
type Monitors struct {
	options Options

	// changed wakes Run; it holds at most one signal.
	changed chan struct{}

	mu sync.RWMutex
	// wanted holds the keys of each owner. An owner without keys is not in it.
	// Guarded by mu.
	wanted map[string][]Key
	// monitors holds exactly the keys that occur in wanted. Guarded by mu.
	monitors map[Key]*monitor
}

// New returns a set that watches nothing yet. Informers start when Run runs and
// an owner wants them. The error tells which required option is missing.
func New(o Options) (*Monitors, error) {
	if o.Client == nil || o.Handle == nil {
		return nil, errors.New("monitor: Options.Client and Handle are required")
	}
	o.Indexers = indexersOfView(o.Indexers)
	return &Monitors{
		options:  o,
		changed:  make(chan struct{}, 1),
		wanted:   map[string][]Key{},
		monitors: map[Key]*monitor{},
	}, nil
}

// indexersOfView are indexers that find nothing in what is not in view.
func indexersOfView(indexers cache.Indexers) cache.Indexers {
	wrapped := make(cache.Indexers, len(indexers))
	for name, index := range indexers {
		wrapped[name] = func(item any) ([]string, error) {
			if obj, ok := item.(*wire.Object); ok && obj.IsStub() {
				return nil, nil
			}
			return index(item)
		}
	}
	return wrapped
}

// Run starts and stops informers as Watch asks for them, until ctx ends. When
// it returns, every informer has stopped and none of their goroutines is left.
// It may be called once. The error is nil unless an informer could not be set
// up.
func (m *Monitors) Run(ctx context.Context) error {
	var group sync.WaitGroup
	defer group.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // before group.Wait, also on an error

	for {
		for _, mon := range m.unstarted() {
			if err := mon.start(ctx, &group); err != nil {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-m.changed:
		}
	}
}

// Watch replaces the set of keys that owner wants; without keys it releases the
// owner. What is new starts soon after, what nobody wants any more is stopped:
// its objects are out of view at once, and its watch ends soon after. Watch does
// not wait for either.
func (m *Monitors) Watch(owner string, keys ...Key) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(keys) == 0 {
		delete(m.wanted, owner)
	} else {
		m.wanted[owner] = append([]Key(nil), keys...)
	}

	d := differenceFrom(m.monitors, m.wanted)
	for _, key := range d.remove {
		m.monitors[key].stop()
		delete(m.monitors, key)
	}
	for _, key := range d.add {
		m.monitors[key] = newMonitor(key, m.options)
	}
	if len(d.add) > 0 {
		m.wake()
	}
}

// Restart replaces the informers of a resource, whoever wants them, by new ones
// that list again, and returns how many there were. It is for a resource that
// went away and came back as another one under the same name: without it an
// informer would find out when its back-off next lets it retry, which can take
// a minute. No events are emitted for what the old informers held.
func (m *Monitors) Restart(gvr schema.GroupVersionResource) int {
	return m.restart(func(key Key) bool { return key.GVR == gvr })
}

// Relist replaces the informers with a selector by new ones that list again, and returns
// how many there were. It is for when Options.Tag has other objects in view than before.
func (m *Monitors) Relist(selector string) int {
	return m.restart(func(key Key) bool { return key.Selector == selector })
}

func (m *Monitors) restart(isMeant func(Key) bool) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	restarted := 0
	for key, mon := range m.monitors {
		if !isMeant(key) {
			continue
		}
		mon.stop()
		m.monitors[key] = newMonitor(key, m.options)
		restarted++
	}
	if restarted > 0 {
		m.wake()
	}
	return restarted
}

// wake makes Run look for informers to start.
func (m *Monitors) wake() {
	select {
	case m.changed <- struct{}{}:
	default:
	}
}

// unstarted lists the wanted informers that do not run yet.
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

// monitor returns the informer that serves key, or nil.
func (m *Monitors) monitor(key Key) *monitor {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.monitors[key]
}
