package restmapping

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/flowcontrol"
)

// Options configure a Mapper. Config is required.
type Options struct {
	Config *rest.Config
	// MinRefreshInterval is the time between refreshes that misses cause, apart from a few that may follow at once. A
	// miss in between is answered from memory. 0 means one second. It does not limit refreshes that the watches cause.
	MinRefreshInterval time.Duration
}

const (
	// defaultMinRefreshInterval bounds the cost of a rule for a kind that does not exist: one discovery (two requests)
	// a second.
	defaultMinRefreshInterval = time.Second

	// missBurst is the number of misses that may refresh before the interval applies, so that a lookup finds what was
	// just created.
	missBurst = 5
)

func (o Options) validate() error {
	if o.Config == nil {
		return errors.New("restmapping: Options.Config is required")
	}
	if o.MinRefreshInterval < 0 {
		return fmt.Errorf("restmapping: Options.MinRefreshInterval is %s, want 0 or more", o.MinRefreshInterval)
	}
	return nil
}

// Mapper knows the kinds of one API server. All methods are safe for concurrent use. Lookups work without Run, but only
// Run notices changes.
type Mapper struct {
	discovery discovery.DiscoveryInterfaceWithContext
	dynamic   dynamic.Interface
	misses    flowcontrol.RateLimiter
	synced    chan struct{}
	// current is the newest snapshot; nil before the first discovery. Only publish replaces it.
	current atomic.Pointer[snapshot]
	// published signals a new snapshot to Run. It holds at most one signal.
	published chan struct{}
	// refreshing holds a token while a refresh runs. Unlike a mutex, it can be waited for until a context ends.
	refreshing chan struct{}
	// definitions are the watched definitions; nil until Run watches them. Guarded by refreshing.
	definitions *definitions
	started     atomic.Int64
	mu          sync.Mutex
	// subscribers is guarded by mu.
	subscribers []*func(Change)
	// lastErr is the error of the newest refresh; nil if it succeeded, at least in part. Guarded by mu.
	lastErr error
}

// New returns a Mapper that knows nothing yet. It sends no request. The error reports a wrong option, or a config from
// which no client can be made.
func New(o Options) (*Mapper, error) {
	if err := o.validate(); err != nil {
		return nil, err
	}
	disco, err := discovery.NewDiscoveryClientForConfig(o.Config)
	if err != nil {
		return nil, fmt.Errorf("make a discovery client: %w", err)
	}
	dyn, err := dynamic.NewForConfig(o.Config)
	if err != nil {
		return nil, fmt.Errorf("make a dynamic client: %w", err)
	}
	interval := o.MinRefreshInterval
	if interval == 0 {
		interval = defaultMinRefreshInterval
	}
	return &Mapper{
		discovery:  disco,
		dynamic:    dyn,
		misses:     flowcontrol.NewTokenBucketRateLimiter(float32(time.Second)/float32(interval), missBurst),
		synced:     make(chan struct{}),
		published:  make(chan struct{}, 1),
		refreshing: make(chan struct{}, 1),
	}, nil
}

// Synced returns a channel that is closed once Run knows the API server's kinds and their definitions.
func (m *Mapper) Synced() <-chan struct{} { return m.synced }

// Lookup answers from memory and never sends a request.
func (m *Mapper) Lookup(gvk schema.GroupVersionKind) (Kind, bool) {
	s := m.current.Load()
	if s == nil {
		return Kind{}, false
	}
	kind, ok := s.kinds[gvk]
	return kind, ok
}

// Kinds lists every known kind, sorted by group, version and kind. Like Lookup, it answers from memory.
func (m *Mapper) Kinds() []Kind {
	s := m.current.Load()
	if s == nil {
		return nil
	}
	return sorted(s.kinds)
}

// Kind answers from memory if it can. Otherwise it refreshes, at most once and at a limited rate, and answers from the
// result.
//
// The error is an *UnknownKindError if the API server does not have the kind. It wraps ErrUnavailable if discovery of
// the group failed and the kind was not known before. It wraps ctx's error if ctx ended.
func (m *Mapper) Kind(ctx context.Context, gvk schema.GroupVersionKind) (Kind, error) {
	if kind, ok := m.Lookup(gvk); ok {
		return kind, nil
	}
	if err := m.refreshAfterMiss(ctx); err != nil {
		return Kind{}, fmt.Errorf("look up %s: %w", gvk, err)
	}
	if kind, ok := m.Lookup(gvk); ok {
		return kind, nil
	}
	return Kind{}, m.whyMissing(gvk)
}

// Missing returns, from memory, why a kind is not known; nil if it is known. The error is an *UnknownKindError if the
// API server is known not to have the kind. It wraps ErrUnavailable if discovery of its group failed: the kind may
// exist.
func (m *Mapper) Missing(gvk schema.GroupVersionKind) error {
	if _, ok := m.Lookup(gvk); ok {
		return nil
	}
	return m.current.Load().missing(gvk)
}

func (m *Mapper) whyMissing(gvk schema.GroupVersionKind) error {
	m.mu.Lock()
	cause := m.lastErr
	m.mu.Unlock()
	if cause != nil {
		return fmt.Errorf("look up %s: %w: %w", gvk, ErrUnavailable, cause)
	}
	return m.current.Load().missing(gvk)
}

// errNotAsked is the cause if every discovery so far was cancelled.
var errNotAsked = errors.New("the API server has not answered yet")

// refreshAfterMiss refreshes, unless another refresh began and ended since this call, or misses have caused too many. A
// failed discovery is no error here: whyMissing returns it if it matters.
func (m *Mapper) refreshAfterMiss(ctx context.Context) error {
	missed := m.started.Load()
	if err := m.acquire(ctx); err != nil {
		return err
	}
	defer m.release()
	if m.started.Load() == missed && m.misses.TryAccept() {
		if err := m.refreshLocked(ctx); err != nil {
			return ctx.Err()
		}
	}
	return nil
}

func (m *Mapper) acquire(ctx context.Context) error {
	select {
	case m.refreshing <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (m *Mapper) release() { <-m.refreshing }

func (m *Mapper) refresh(ctx context.Context) error {
	if err := m.acquire(ctx); err != nil {
		return err
	}
	defer m.release()
	return m.refreshLocked(ctx)
}

// refreshLocked is refresh for the holder of refreshing. If discovery fails as a whole, the old snapshot stays.
func (m *Mapper) refreshLocked(ctx context.Context) error {
	m.started.Add(1)
	// The definitions are read first. If one changes meanwhile, its event comes later and causes another refresh. In
	// the other order, the snapshot could have a definition whose change discovery did not show yet.
	var known map[schema.GroupResource]Definition
	if m.definitions != nil {
		known = m.definitions.all()
	}
	next, err := discover(ctx, m.discovery)
	if err == nil || ctx.Err() == nil { // a call that one caller cancelled reveals nothing about the API server
		m.mu.Lock()
		m.lastErr = err
		m.mu.Unlock()
	}
	if err != nil {
		return err
	}
	next.inherit(m.current.Load(), known)
	m.publish(next)
	return nil
}

// publish makes s the newest snapshot. The caller holds refreshing.
func (m *Mapper) publish(s *snapshot) {
	m.current.Store(s)
	select {
	case m.published <- struct{}{}:
	default:
	}
}

// NewFixed returns a Mapper that knows these kinds and no others. It asks no API server.
func NewFixed(kinds []Kind) *Mapper {
	s := &snapshot{
		kinds: make(map[schema.GroupVersionKind]Kind, len(kinds)), resources: make(map[schema.GroupVersionResource]schema.GroupVersionKind, len(kinds)),
		versions: sets.New[schema.GroupVersion](),
	}
	for _, kind := range kinds {
		s.add(kind)
		s.versions.Insert(kind.GVK.GroupVersion())
	}
	m := &Mapper{
		misses: flowcontrol.NewFakeNeverRateLimiter(), synced: make(chan struct{}),
		published: make(chan struct{}, 1), refreshing: make(chan struct{}, 1),
	}
	m.current.Store(s)
	close(m.synced)
	return m
}

// Subscribe calls f after each refresh that changed something, with all differences since the last call; several
// changes may come in one call. The first discovery counts: to a subscriber from before Run, every kind is Added. Calls
// come from Run's goroutine, in order, one at a time and outside locks. Run notices nothing while f runs. f may call
// any method of the Mapper.
//
// The returned function ends the subscription. A call that has begun may still be running when it returns.
func (m *Mapper) Subscribe(f func(Change)) (cancel func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.subscribers = append(m.subscribers, &f)
	return func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.subscribers = slices.DeleteFunc(m.subscribers, func(other *func(Change)) bool { return other == &f })
	}
}

// notify notifies every subscriber of the differences between the current snapshot and the one that was last notified
// of. It returns the current one.
func (m *Mapper) notify(ctx context.Context, last *snapshot) *snapshot {
	now := m.current.Load()
	if now == last {
		return last
	}
	logFailed(ctx, last, now)
	change := diff(last, now)
	if change.Empty() {
		return now
	}
	logr.FromContextOrDiscard(ctx).V(4).Info("Kinds have changed",
		"added", len(change.Added), "removed", len(change.Removed), "changed", len(change.Changed))
	m.mu.Lock()
	subscribers := slices.Clone(m.subscribers)
	m.mu.Unlock()
	for _, notify := range subscribers {
		m.mu.Lock()
		subscribed := slices.Contains(m.subscribers, notify)
		m.mu.Unlock()
		if subscribed {
			(*notify)(change)
		}
	}
	return now
}
