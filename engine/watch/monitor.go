package watch

import (
	"cmp"
	"context"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
)

// monitor is one informer with its overlay and health. It starts once and stops once.
type monitor struct {
	key      Key
	informer cache.SharedIndexInformer
	packer   Packer
	options  Options
	overlay  *overlay
	health   health
	// direct reads in place of the informer, which is nil then.
	direct *direct

	// handlerSynced is closed once Handle has returned for the first list.
	handlerSynced chan struct{}
	// announced is true once Options.Synced has returned after that. delivering counts the events that are being
	// handled.
	announced  atomic.Bool
	delivering atomic.Int32

	mu sync.Mutex
	// state changes from fresh to running to stopped, or from fresh to stopped. It is written under mu; events read
	// it without.
	state atomic.Int32
	// cancel stops the informer; nil until it runs. Guarded by mu.
	cancel context.CancelFunc
}

const (
	fresh int32 = iota
	running
	stopped
)

func newMonitor(key Key, o Options) *monitor {
	if o.Source != nil {
		return &monitor{key: key, options: o, direct: newDirect(key, o)}
	}
	resource := o.Client.Objects(key.GVR, key.Namespace)
	if key.Metadata {
		resource = resource.Metadata()
	}
	source := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			o.Requested(key.GVR.GroupResource(), "list")
			options.LabelSelector = key.Selector
			return resource.List(ctx, options)
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			o.Requested(key.GVR.GroupResource(), "watch")
			options.LabelSelector = key.Selector
			return resource.Watch(ctx, options)
		},
	}
	informer := cache.NewSharedIndexInformerWithOptions(source, &Object{}, cache.SharedIndexInformerOptions{
		Indexers:          maps.Clone(o.Indexers), // the informer takes ownership of the map
		ObjectDescription: key.GVR.String(),
	})
	return &monitor{
		key:           key,
		informer:      informer,
		options:       o,
		overlay:       newOverlay(key, informer, o.Indexers),
		handlerSynced: make(chan struct{}),
	}
}

// isNew reports whether the monitor has yet to be started.
func (m *monitor) isNew() bool { return m.state.Load() == fresh }

// stop stops the informer without waiting for it. No event begins afterwards; the group passed to start waits for the
// goroutines.
func (m *monitor) stop() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.state.Store(stopped)
	if m.cancel != nil {
		m.cancel()
	}
}

// start runs the informer in group until ctx ends or stop is called. If the monitor was stopped meanwhile, it does
// nothing.
func (m *monitor) start(ctx context.Context, group *sync.WaitGroup) {
	log := logr.FromContextOrDiscard(ctx).WithValues("resource", m.key.GVR.GroupResource().String(),
		"version", m.key.GVR.Version, "namespace", m.key.Namespace, "selector", m.key.Selector)
	registration := m.configure(log)
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.state.CompareAndSwap(fresh, running) {
		return
	}
	ctx, m.cancel = context.WithCancel(logr.NewContext(ctx, log))
	group.Go(func() { m.informer.RunWithContext(ctx) })
	group.Go(func() {
		select {
		case <-ctx.Done():
			return
		case <-registration.HasSyncedChecker().Done():
		}
		close(m.handlerSynced)
		log.V(4).Info("Informer has synced")
		if m.state.Load() == running {
			m.options.Synced(m.key)
		}
		m.announced.Store(true)
	})
}

// configure adds the handlers to the informer, which must not run yet.
func (m *monitor) configure(log logr.Logger) cache.ResourceEventHandlerRegistration {
	// These fail only once an informer has started.
	_ = m.informer.SetWatchErrorHandlerWithContext(func(ctx context.Context, _ *cache.Reflector, err error) { m.watchFailed(ctx, err) })
	_ = m.informer.SetTransform(m.transform)
	registration, _ := m.informer.AddEventHandlerWithOptions(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { m.deliver(log, nil, asObject(obj)) },
		UpdateFunc: func(before, after any) { m.deliver(log, asObject(before), asObject(after)) },
		DeleteFunc: func(obj any) { m.deliver(log, asObject(obj), nil) },
	}, cache.HandlerOptions{Logger: &log})
	return registration
}

// watchFailed records an error that client-go reports, and logs it with the logger of ctx, in which the informer runs.
// Once ctx has ended it does nothing: the requests of an informer that is stopped end with an error, too.
func (m *monitor) watchFailed(ctx context.Context, err error) {
	if ctx.Err() != nil || !m.health.failed(err, time.Now()) {
		return
	}
	logr.FromContextOrDiscard(ctx).Error(err, "Cannot watch; retrying until it works or the watch is released")
	if m.state.Load() == running {
		m.options.Failed(m.key)
	}
}

// transform returns what the informer keeps of an object.
func (m *monitor) transform(obj any) (any, error) {
	o, ok := obj.(*Object)
	if !ok {
		return obj, nil
	}
	if o.Tag() != "" { // client-go calls this twice for each object of a list
		return m.packer.Pack(o), nil
	}
	if tag, known := m.overlay.tagOf(o); known { // computed when the write was observed
		return m.packer.Pack(tagged(o, tag)), nil
	}
	if stored, ok := m.overlay.stored(nameOf(o)); ok && stored.SameMarking(o) {
		return m.packer.Pack(tagged(o, stored.Tag())), nil
	}
	return m.packer.Pack(m.options.keep(m.key, o)), nil
}

// deliver calls Handle for one event, unless the monitor was stopped.
func (m *monitor) deliver(log logr.Logger, before, after *Object) {
	if m.state.Load() != running || (before == nil && after == nil) {
		return
	}
	m.delivering.Add(1) // before the overlay drops the answer of the write
	defer m.delivering.Add(-1)
	if m.health.recovered() {
		log.Info("Watching again")
	}
	before, after = inView(before), inView(after)
	if before == nil && after == nil {
		return // if the answer of a write is in view, vanished ends it
	}
	m.overlay.settle(cmp.Or(after, before))
	m.options.Handle(Event{Key: m.key, Old: before, New: after})
}

// inView returns the object, or nil for a stub of an object that is not in view.
func inView(obj *Object) *Object {
	if obj.IsStub() {
		return nil
	}
	return obj
}

// hasSynced reports whether Handle has returned for every object of the first list.
func (m *monitor) hasSynced() bool {
	if m.direct != nil {
		return true
	}
	select {
	case <-m.handlerSynced:
		return true
	default:
		return false
	}
}

// isIdle reports whether the informer has filled and its watch has shown every observed write. A failing informer
// counts as idle: it has nothing to do before its next retry.
func (m *monitor) isIdle() bool {
	return m.health.failing.Load() || m.announced.Load() && m.overlay.oldest().IsZero() && m.delivering.Load() == 0
}

// asObject unwraps the argument of an event handler. It returns nil if the last state of a deleted object is unknown.
func asObject(obj any) *Object {
	if gone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		obj = gone.Obj
	}
	o, _ := obj.(*Object)
	return o
}
