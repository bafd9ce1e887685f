package restmapping

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/flowcontrol"
)

// Options tells a Mapper whom to ask. Config is required.
type Options struct {
	// Config is the API server's.
	Config *rest.Config

	// MinRefreshInterval is the time from one refresh that a miss causes to the
	// next, apart from a few that may follow at once. A miss in between is
	// answered from what is known. 0 means one second. Refreshes that the
	// watches cause are not subject to it.
	MinRefreshInterval time.Duration
}

const (
	// defaultMinRefreshInterval bounds what a rule for a kind that does not
	// exist costs the API server: one discovery (two requests) a second.
	defaultMinRefreshInterval = time.Second

	// missBurst is how many misses may refresh before the interval counts, so
	// that somebody who looks up what was created just now finds it.
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

// Mapper knows the kinds of one API server. All methods are safe for concurrent
// use. Lookups work without Run, but only Run notices changes.
type Mapper struct {
	discovery discovery.DiscoveryInterfaceWithContext
	dynamic   dynamic.Interface
	misses    flowcontrol.RateLimiter
	synced    chan struct{}

	// current is what is known, nil before the first discovery. It is replaced
	// by refresh alone.
	current atomic.Pointer[snapshot]

	// published wakes Run after a refresh; it holds at most one signal.
	published chan struct{}

	// refreshing holds a token while a refresh runs. Unlike a mutex it can be
	// waited for until a context ends. What follows belongs to its holder.
	refreshing chan struct{}
	// definitions are the watched definitions, nil until Run watches them.
	// Guarded by refreshing.
	definitions *definitions

	// started counts the refreshes begun.
	started atomic.Int64

	mu sync.Mutex
	// subscribers is guarded by mu.
	subscribers []*subscriber
	// lastErr is why the newest refresh failed as a whole; nil if it did not.
	// Guarded by mu.
	lastErr error
}

// New returns a Mapper that knows nothing yet. It sends no request. The error says
// which option is wrong, or that no client can be made of the config.
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

// Synced returns a channel that is closed once Run knows the API server's kinds
// and their definitions.
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

// Kinds lists every kind that is known, by group, version and kind. Like Lookup
// it answers from memory.
func (m *Mapper) Kinds() []Kind {
	s := m.current.Load()
	if s == nil {
		return nil
	}
	return slices.SortedFunc(maps.Values(s.kinds), func(a, b Kind) int { return compareGVK(a.GVK, b.GVK) })
}

// Kind answers from memory if it can. Otherwise it asks the API server, at most
// once and at a limited rate, and answers from what is known then.
//
// The error is an *UnknownKindError when the API server does not have the kind; it
// wraps ErrUnavailable when discovery of the group failed and nothing was known of
// the kind before; and it wraps ctx's error when ctx ended.
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

// Missing says from memory why a kind is not known; nil where it is. The error is an
// *UnknownKindError where the API server is known not to have it. It wraps
// ErrUnavailable where discovery of its group fails: the kind may exist.
func (m *Mapper) Missing(gvk schema.GroupVersionKind) error {
	s := m.current.Load()
	if s == nil {
		return fmt.Errorf("look up %s: %w: %w", gvk, ErrUnavailable, errNotAsked)
	}
	if _, ok := s.kinds[gvk]; ok {
		return nil
	}
	for gv, cause := range s.failed {
		if gv.Group == gvk.Group {
			return fmt.Errorf("look up %s: %w: %w", gvk, ErrUnavailable, cause)
		}
	}
	return s.unknown(gvk)
}

// whyMissing says why nothing is known of a kind.
func (m *Mapper) whyMissing(gvk schema.GroupVersionKind) error {
	m.mu.Lock()
	cause := m.lastErr
	m.mu.Unlock()
	s := m.current.Load()
	if cause == nil && s != nil {
		cause = s.failed[gvk.GroupVersion()]
		if cause == nil {
			return s.unknown(gvk)
		}
	}
	if cause == nil {
		cause = errNotAsked
	}
	return fmt.Errorf("look up %s: %w: %w", gvk, ErrUnavailable, cause)
}

// errNotAsked is the cause when every discovery so far was broken off.
var errNotAsked = errors.New("the API server has not answered yet")

// refreshAfterMiss refreshes, unless a refresh that began after this call has
// ended meanwhile or misses have refreshed too often. A discovery that failed is
// not an error here: whyMissing tells it, if it matters.
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

// acquire waits until no other refresh runs, or until ctx ends.
func (m *Mapper) acquire(ctx context.Context) error {
	select {
	case m.refreshing <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (m *Mapper) release() { <-m.refreshing }

// refresh replaces what is known by what the API server says now.
func (m *Mapper) refresh(ctx context.Context) error {
	if err := m.acquire(ctx); err != nil {
		return err
	}
	defer m.release()
	return m.refreshLocked(ctx)
}

// refreshLocked is refresh for the holder of refreshing. When discovery fails as a
// whole, everything that is known stays.
func (m *Mapper) refreshLocked(ctx context.Context) error {
	m.started.Add(1)
	// The definitions are read first. If one changes meanwhile its event comes
	// later and causes another refresh; the other order would enter a definition
	// that discovery did not show yet.
	var known map[schema.GroupResource]Definition
	if m.definitions != nil {
		known = m.definitions.all()
	}
	next, err := discover(ctx, m.discovery)
	if err == nil || ctx.Err() == nil { // what one caller broke off says nothing
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

// publish makes s what is known. The caller holds refreshing.
func (m *Mapper) publish(s *snapshot) {
	m.current.Store(s)
	select {
	case m.published <- struct{}{}:
	default:
	}
}
