package engine

import (
	"cmp"
	"context"
	"errors"
	"time"

	"go.opentelemetry.io/otel/trace"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/clock"

	"kanon.dev/kanon/engine/source"
	"kanon.dev/kanon/engine/telemetry"
	"kanon.dev/kanon/engine/tenant"
	"kanon.dev/kanon/engine/watch"
	"kanon.dev/kanon/restmapping"
	"kanon.dev/kanon/restmapping/openapi"
	"kanon.dev/kanon/rules/program"
)

// Source is where rules come from. Run publishes snapshots until ctx ends. The texts of an origin stay in force until a
// later snapshot differs. A Source that is also a catalog.Recipient receives the reports on its origins.
type Source interface {
	Run(ctx context.Context, publish func(source.Snapshot)) error
}

// Client is how the engine reads, watches and writes. *wire.Client implements it.
type Client interface {
	dynamic.Interface
	watch.Lister
}

// Options configure an Engine. Client, Mapper, Schemas and Recorder must be set; the zero value of every other field is its
// documented default.
type Options struct {
	// Client reads, watches and writes every object. It should not limit its own rate: that is the job of the API
	// server's priority and fairness.
	Client Client
	// Mapper knows the cluster's kinds. The engine runs it.
	Mapper *restmapping.Mapper
	// Schemas knows their OpenAPI schemas.
	Schemas *openapi.Published
	// Recorder takes the Events about parents and rule ConfigMaps.
	Recorder record.EventRecorder
	// Sources are where rules come from.
	Sources []Source
	// Namespace is Kanon's own; rules that act cluster-wide live in it. Default: kanon-system.
	Namespace string
	// Workers is how many parents are reconciled at the same time, and how many of one rule at the most. Reconciles whose
	// requests take more than a second do not count, except for their rule. Default: 16.
	Workers int
	// ParallelWrites is how many children of one parent are written at the same time, while fewer parents wait than there are
	// workers. Default: 4.
	ParallelWrites int
	// RetryBase and RetryMax bound the exponential back-off after a failed reconcile. Defaults: 100 ms and 2 minutes.
	RetryBase, RetryMax time.Duration
	// RecreateBase and RecreateMax bound the exponential back-off of objects that are recreated repeatedly. An object
	// that lasts for twice RecreateMax starts again with RecreateBase. Defaults: 10 seconds and 5 minutes.
	RecreateBase, RecreateMax time.Duration
	// WaitLimit is how long a parent may wait before an Event reports why, if its kind has no conditions or its
	// deletion waits. Default: 1 minute.
	WaitLimit time.Duration
	// Limits bound the evaluation of a rule. Default: those of package rules.
	Limits program.Limits
	// Memory bounds the bytes that the values of all evaluations take together. It must be at least
	// Limits.ReconcileBytes. Default: no bound.
	Memory program.Account
	// Leading is closed once the engine may write. Until then it compiles rules and its informers sync, so that it can
	// start quickly. If nil, the engine may write from the start.
	Leading <-chan struct{}
	// Reviewer answers what a ServiceAccount may read. If it is set, Client must have been made with
	// tenant.Wrap. If nil, rules that name a ServiceAccount do not run.
	Reviewer tenant.Reviewer
	// Counts records what reconciles take. Writes are counted by the Client, if it is one of telemetry.NewClient. Default:
	// nothing is counted.
	Counts telemetry.Counts
	// Tracer makes traces of reconciles. They include requests if the Client's transport is a span.Transport. Default:
	// no traces.
	Tracer trace.Tracer
	// Clock gives the time that rules see. Default: the system's.
	Clock clock.PassiveClock
}

// DefaultNamespace is Kanon's own namespace if Options name none.
const DefaultNamespace = "kanon-system"

// LeaseName is the name of the Lease in Kanon's own namespace that elects the leader among several Kanons. No rule may
// write it.
const LeaseName = "kanon"

func (o *Options) setDefaults() {
	o.Namespace = cmp.Or(o.Namespace, DefaultNamespace)
	o.Workers = cmp.Or(o.Workers, 16)
	o.ParallelWrites = cmp.Or(o.ParallelWrites, 4)
	o.RetryBase = cmp.Or(o.RetryBase, 100*time.Millisecond)
	o.RetryMax = cmp.Or(o.RetryMax, 2*time.Minute)
	o.RecreateBase = cmp.Or(o.RecreateBase, 10*time.Second)
	o.RecreateMax = cmp.Or(o.RecreateMax, 5*time.Minute)
	o.WaitLimit = cmp.Or(o.WaitLimit, time.Minute)
	o.Clock = cmp.Or[clock.PassiveClock](o.Clock, clock.RealClock{})
}

func (o *Options) validate() error {
	var errs []error
	refuse := func(wrong bool, what string) {
		if wrong {
			errs = append(errs, errors.New("engine: Options."+what))
		}
	}
	refuse(o.Client == nil, "Client is not set")
	refuse(o.Mapper == nil, "Mapper is not set")
	refuse(o.Schemas == nil, "Schemas is not set")
	refuse(o.Recorder == nil, "Recorder is not set")
	refuse(o.Workers < 0 || o.ParallelWrites < 0, "Workers and ParallelWrites must not be negative")
	refuse(o.RetryBase < 0 || o.RetryMax < o.RetryBase, "RetryMax must be at least RetryBase, and neither negative")
	refuse(o.RecreateBase < 0 || o.RecreateMax < o.RecreateBase, "RecreateMax must be at least RecreateBase, and neither negative")
	refuse(o.WaitLimit < 0, "WaitLimit must not be negative")
	return errors.Join(errs...)
}
