package engine

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"

	"kanon.dev/kanon/engine/apply"
	"kanon.dev/kanon/engine/apply/mark"
	"kanon.dev/kanon/engine/catalog"
	"kanon.dev/kanon/engine/conditions"
	"kanon.dev/kanon/engine/feedback"
	"kanon.dev/kanon/engine/keyring"
	"kanon.dev/kanon/engine/operator"
	"kanon.dev/kanon/engine/patching"
	"kanon.dev/kanon/engine/queue"
	"kanon.dev/kanon/engine/reconcile"
	"kanon.dev/kanon/engine/record"
	"kanon.dev/kanon/engine/source"
	"kanon.dev/kanon/engine/tenant"
	"kanon.dev/kanon/engine/watch"
	"kanon.dev/kanon/rules/syntax"
)

// Engine runs rules. Make it with New and run it once.
type Engine struct {
	options  Options
	activity *queue.Counter
	monitors *watch.Monitors
	writer   *apply.Writer
	// statuses and patchWriter write what is not a child.
	statuses    *apply.StatusWriter
	patchWriter *patching.Writer
	// keys are the keys that seal the marks of children.
	keys  *keyring.Store
	marks *mark.Marks
	// sealing are the keys by which the informers last decided which objects are children; nil while no keys are known.
	sealing  atomic.Pointer[keyring.Keyring]
	queue    *queue.Queue
	running  operator.Running
	feedback *feedback.Tracker
	// inbox has the changes that the catalog has not processed yet.
	inbox *catalog.Inbox
	// parents is what is remembered of parents between two reconciles.
	parents *conditions.Store
	// reads checks what rules with a ServiceAccount may read.
	reads   *tenant.Reads
	readers *watch.Readers
	records *record.Store
	guards  *guards
	// reconciler reconciles parents; patches reconciles the targets of patches. Run makes both.
	reconciler   *reconcile.Reconciler
	patches      *patching.Patches
	objectCounts *objectCounts

	// unread counts the sources that have published nothing yet. taken is set once the first rules of all sources are
	// compiled.
	unread atomic.Int32
	taken  atomic.Bool
	// known is what Stats reports about rules; nil before the first update.
	known atomic.Pointer[knownRules]
}

// New makes an Engine. It sends no request and starts nothing. It fails if options are missing or contradictory.
func New(options Options) (*Engine, error) {
	options.setDefaults()
	if err := options.validate(); err != nil {
		return nil, err
	}
	counter := &queue.Counter{}
	e := &Engine{
		options:  options,
		activity: counter,
		inbox:    catalog.NewInbox(counter, len(options.Sources)),
		parents:  conditions.NewStore(),
		reads:    tenant.NewReads(options.Reviewer, clock.RealClock{}),
	}
	e.unread.Store(int32(len(options.Sources))) //nolint:gosec // a handful
	e.objectCounts = &objectCounts{count: e.inbox.Notify}
	e.monitors = watch.New(e.monitorOptions(nil))
	e.readers = watch.NewReaders(e.monitors)
	e.keys = keyring.NewStore(keyring.Options{
		Client: options.Client, Namespace: options.Namespace, Changed: e.keysChanged,
		// If the keys were deleted, the whole namespace may have been.
		Restored:      func() { e.records.Recheck() },
		MakeNamespace: func(ctx context.Context) error { return e.records.CreateNamespace(ctx) },
		MayWrite:      e.leads,
	})
	e.records = record.New(record.Options{
		Counter: counter, Client: options.Client, Namespace: options.Namespace, Keys: e.keys, RuleID: mark.RuleID,
		Changed: e.recordChanged, Annotated: e.inbox.Notify,
	})
	e.guards = &guards{engine: e}
	e.marks = mark.NewMarks(e.keys.Keyring)
	e.makeWriters()
	e.feedback = feedback.NewTracker(e.parents, options.Clock.Now)
	return e, nil
}

// monitorOptions returns the options of the informers, or of what a Source shows in their place.
func (e *Engine) monitorOptions(source watch.Source) watch.Options {
	return watch.Options{
		Client:    e.options.Client,
		Source:    source,
		Handle:    e.handle,
		Synced:    e.synced,
		Failed:    e.failed,
		Requested: e.countWatch,
		Tag:       e.tagOf,
		Indexers:  map[string]cache.IndexFunc{operator.IndexParent: operator.IndexByParent, cache.NamespaceIndex: cache.MetaNamespaceIndexFunc},
	}
}

// makeWriters makes the writers of children, statuses and patches.
func (e *Engine) makeWriters() {
	api := apply.NewAPI(e.options.Client, e.options.Schemas, func(gvk schema.GroupVersionKind) bool {
		kind, _ := e.options.Mapper.Lookup(gvk)
		return kind.HasStatus
	})
	own := apply.Reserved{
		Namespace: e.options.Namespace,
		Labels:    []string{source.LabelRules, record.Label},
		OwnLabels: map[string]string{"app.kubernetes.io/name": "kanon"}, // as in deploy/
		Prefixes:  map[schema.GroupKind]string{{Kind: "ConfigMap"}: record.NamePrefix},
		Names: map[schema.GroupKind]string{
			{Kind: "Secret"}: keyring.SecretName, {Group: "coordination.k8s.io", Kind: "Lease"}: LeaseName,
		},
		Kinds: []schema.GroupKind{{Group: "kanon.dev", Kind: syntax.RuleKind}},
	}
	e.statuses, e.patchWriter = apply.NewStatusWriter(api), patching.NewWriter(api, own)
	e.writer = apply.New(apply.Options{Server: api, Marks: e.marks, NameOf: e.running.NameOf, Reserved: own, IsGone: e.isGone})
}

// Run runs every rule of every source until ctx ends. Then it stops everything that it started and waits for it. The
// error is nil if ctx ended it. Run logs to the logger of ctx.
func (e *Engine) Run(ctx context.Context) error {
	e.queue = queue.New(e.options.RetryBase, e.options.RetryMax, e.activity, e.running.TenantOf, e.options.Workers) // starts goroutines, like everything below
	e.patches = e.newPatches()
	e.reconciler = e.newReconciler()
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return e.options.Mapper.Run(ctx) })
	group.Go(func() error { e.monitors.Run(ctx); return nil })
	for i, src := range e.options.Sources {
		e.activity.Begin() // until the source has published once
		var first sync.Once
		group.Go(func() error {
			return src.Run(ctx, func(s source.Snapshot) {
				e.inbox.PutSnapshot(i, s)
				first.Do(func() {
					e.unread.Add(-1)
					e.inbox.Notify() // the update that processed the snapshot may not know yet that it was the last one
					e.activity.End()
				})
			})
		})
	}
	group.Go(func() error { e.keys.Run(ctx); return nil })
	group.Go(func() error { return e.runCatalog(ctx) })
	e.onceLeading(ctx, group, func() { e.keys.Retry(); e.records.Run(ctx) })
	e.onceLeading(ctx, group, func() { (&workers{queue: e.queue, workOn: e.workOn}).run(ctx, e.options.Workers) })
	group.Go(func() error {
		<-ctx.Done()
		e.queue.ShutDown()
		return nil
	})
	if err := group.Wait(); err != nil && !errors.Is(err, context.Canceled) {
		return fmt.Errorf("engine: %w", err)
	}
	return nil
}

func (e *Engine) newPatches() *patching.Patches {
	return patching.New(patching.Options{
		Client: e.options.Client, Objects: e.options.Client, Mapper: e.options.Mapper, Monitors: e.monitors, Writer: e.patchWriter, Running: &e.running, Queue: e.queue, Reads: e.reads,
		Parents: e.parents, Readers: e.readers, Feedback: e.feedback, Records: e.records,
		Restored: e.finishRemoval, Now: e.options.Clock.Now, RetryMax: e.options.RetryMax,
	})
}

func (e *Engine) newReconciler() *reconcile.Reconciler {
	o := e.options
	return reconcile.New(reconcile.Options{
		Mapper: o.Mapper, Schemas: o.Schemas, Monitors: e.monitors, Running: &e.running, Queue: e.queue, Readers: e.readers, Parents: e.parents,
		Feedback: e.feedback, Guard: e.guards, Patches: e.patches, Marks: e.marks, Reads: e.reads,
		Client: o.Client, Objects: o.Client, Writer: e.writer, Statuses: e.statuses, Recorder: o.Recorder,
		Removed: e.finishRemoval, Replan: e.inbox.Notify, Now: o.Clock.Now, Random: rand.Reader, Memory: o.Memory, Workers: o.Workers, ParallelWrites: o.ParallelWrites,
		RecreateLimits: queue.Limits{First: o.RecreateBase, Max: o.RecreateMax}, RetryMax: o.RetryMax, WaitLimit: o.WaitLimit,
	})
}

// Idle reports whether the engine has started and has nothing to do: no rule to compile, no key to reconcile, no record
// or report to write, no informer that is syncing, and no write whose event is still to come. Work that is due later,
// such as a retry, counts only then, and an event only when it arrives from the API server.
func (e *Engine) Idle() bool {
	started, _ := e.records.IsLoaded()
	if !e.leads() {
		started = e.taken.Load() && e.keys.Keyring() != nil
	}
	return started && e.activity.Idle(e.monitors.Idle)
}
