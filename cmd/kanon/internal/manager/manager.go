package manager

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"

	"github.com/go-logr/logr"
	"go.opentelemetry.io/otel/trace"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes/scheme"
	typedauthorizationv1 "k8s.io/client-go/kubernetes/typed/authorization/v1"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	clientopenapi "k8s.io/client-go/openapi"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/record"

	"kanon.dev/kanon/engine"
	"kanon.dev/kanon/engine/conditions"
	"kanon.dev/kanon/engine/source"
	"kanon.dev/kanon/engine/telemetry"
	"kanon.dev/kanon/engine/tenant"
	"kanon.dev/kanon/engine/watch"
	"kanon.dev/kanon/restmapping"
	"kanon.dev/kanon/restmapping/openapi"
	"kanon.dev/kanon/rules/program"
)

// Options configure a Manager. All fields but Rules, TenantRules, Election, Version and Tracer are required.
type Options struct {
	// Config is for connections to the cluster.
	Config *rest.Config
	// Namespace is Kanon's own.
	Namespace string
	// Rules are files and directories with rules, in addition to the ConfigMaps and Rule objects of the cluster.
	Rules []string
	// TenantRules also runs the rules of other namespaces, confined to their namespaces.
	TenantRules bool
	// Workers is how many parents are reconciled at the same time.
	Workers int
	Limits  program.Limits
	Serving Serving
	// Verbosity is that of the log. It can be changed over HTTP.
	Verbosity *Verbosity
	// Election configures the leader election; nil if this is the only Kanon.
	Election *Election
	// Version is that of Kanon, for the metrics.
	Version string
	// Tracer traces reconciles and their requests; nil traces nothing.
	Tracer trace.Tracer
}

type countedClient struct {
	dynamic.Interface
	watch.Lister
}

// Manager has everything that kanon run connects.
type Manager struct {
	engine      *engine.Engine
	server      *APIServer
	outages     *Outages
	broadcaster record.EventBroadcaster
	events      record.EventSink
	metrics     *Registry
	serving     Serving
	verbosity   *Verbosity
	// config is for connections other than the engine's.
	config *rest.Config
	// elector is nil without an election.
	elector *elector
}

// New connects the parts. It sends no request. The error is about the options, such as an address or a file with rules.
func New(o Options) (*Manager, error) {
	outages := NewOutages()
	config := rest.CopyConfig(o.Config)
	config.Wrap(outages.Wrap)
	elector, err := newElector(&o)
	if err != nil {
		return nil, err
	}
	if elector != nil {
		config.Wrap(elector.gate)
	}
	if o.Tracer != nil {
		config.Wrap(telemetry.Transport)
	}
	config.Wrap(tenant.Wrap) // wrapped last, so that requests pass it first
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("set up the connection to the cluster: %w", err)
	}
	objects, err1 := watch.NewClient(config, client)
	kinds, err2 := discovery.NewDiscoveryClientForConfigAndClient(config, client)
	core, err3 := typedcorev1.NewForConfigAndClient(config, client)
	reviews, err4 := typedauthorizationv1.NewForConfigAndClient(config, client)
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		return nil, fmt.Errorf("set up the connection to the cluster: %w", err)
	}
	mapper, err := restmapping.New(restmapping.Options{Config: config})
	if err != nil {
		return nil, err
	}
	registry := NewRegistry(o.Version)
	counted := countedClient{telemetry.NewClient(objects, registry), objects}
	sources, err := o.sources(counted)
	if err != nil {
		return nil, err
	}
	m := &Manager{
		server:      NewAPIServer(kinds.RESTClient(), config.Host),
		outages:     outages,
		broadcaster: record.NewBroadcaster(),
		events:      &typedcorev1.EventSinkImpl{Interface: core.Events("")},
		metrics:     registry,
		serving:     o.Serving,
		config:      o.Config,
		elector:     elector,
		verbosity:   o.Verbosity,
	}
	limits := o.Limits
	memory := shareMemory(debug.SetMemoryLimit(-1), &limits)
	m.engine, err = engine.New(engine.Options{
		Client:    counted,
		Mapper:    mapper,
		Schemas:   openapi.NewPublished(clientopenapi.NewClientWithContext(kinds.RESTClient())),
		Recorder:  m.broadcaster.NewRecorder(scheme.Scheme, corev1.EventSource{Component: conditions.EventComponent}),
		Sources:   sources,
		Namespace: o.Namespace,
		Workers:   o.Workers,
		Limits:    limits,
		Memory:    memory,
		Counts:    registry,
		Reviewer:  reviews.SubjectAccessReviews(),
		Leading:   leading(elector),
		Tracer:    o.Tracer,
	})
	if err != nil {
		return nil, err
	}
	registry.Observe(m.engine.Stats)
	return m, nil
}

// sources returns the sources of rules.
func (o *Options) sources(client countedClient) ([]engine.Source, error) {
	from := o.Namespace
	if o.TenantRules {
		from = metav1.NamespaceAll
	}
	sources := []engine.Source{source.NewConfigMaps(client, from), source.NewRuleObjects(client, from)}
	if len(o.Rules) == 0 {
		return sources, nil
	}
	files, err := source.NewFiles(o.Rules...)
	return append(sources, files), err
}

// Run serves, and runs the engine once the API server answers, until ctx ends.
func (m *Manager) Run(ctx context.Context) error {
	runners, err := m.listen(ctx)
	if err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	for _, run := range append(runners, m.runEngine) {
		group.Go(func() error { return run(ctx) })
	}
	return group.Wait()
}

// runEngine runs the engine once the API server answers.
func (m *Manager) runEngine(ctx context.Context) error {
	if !m.server.Await(ctx) {
		return nil
	}
	defer inBackground(ctx, func(ctx context.Context) { tuneRuntime(ctx, leading(m.elector), m.engine.Idle) })()
	m.outages.Begin(logr.FromContextOrDiscard(ctx))
	m.broadcaster.StartRecordingToSink(m.events)
	defer m.broadcaster.Shutdown()
	return m.runElected(ctx, m.engine.Run)
}

// inBackground runs a function in the background. end cancels its context and waits for it.
func inBackground(ctx context.Context, run func(context.Context)) (end func()) {
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() { run(ctx) })
	return func() { cancel(); running.Wait() }
}
