package engine

import (
	"context"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kanon.dev/kanon/engine/apply/mark"
	"kanon.dev/kanon/engine/catalog"
	"kanon.dev/kanon/engine/operator"
	"kanon.dev/kanon/restmapping"
)

// catalogLoop passes changes of texts and kinds to the catalog, publishes the operators of the rules that run, and has
// reports written. It sends no requests, so a request that hangs delays no other rule: background workers read schemas,
// apply definitions and write reports, and notify the inbox of results. One goroutine owns it.
type catalogLoop struct {
	engine   *Engine
	catalog  *catalog.Catalog
	reporter *catalog.Reporter
	// planner decides which rules run.
	planner *operator.Planner
	// known has the last operator of each rule, including rules that stopped.
	known map[string]*operator.Operator
	// awaiting has the rules whose informers sync before the engine leads.
	awaiting map[string]*operator.Operator
	// removals are the removals that wait.
	removals removals
}

// runCatalog runs the catalog and its requests until ctx ends.
func (e *Engine) runCatalog(ctx context.Context) error {
	mapper := e.options.Mapper
	select {
	case <-mapper.Synced():
	case <-ctx.Done():
		return nil
	}
	cancel := mapper.Subscribe(func(c restmapping.Change) {
		for _, changed := range [][]schema.GroupVersionKind{c.Added, c.Removed, c.Changed} {
			for _, gvk := range changed {
				e.options.Schemas.Forget(gvk.GroupVersion())
			}
		}
		e.inbox.PutKinds(c)
	})
	defer cancel()

	schemas := catalog.NewSchemaReader(e.activity, mapper, e.options.Schemas, e.options.Client, e.inbox.Notify)
	definitions := catalog.NewDefinitionWriter(catalog.DefinitionWriterOptions{
		Counter: e.activity, Client: e.options.Client, Namespace: e.options.Namespace,
		MayWrite: e.leads, Arrived: e.inbox.Notify,
	})
	l := &catalogLoop{
		engine: e,
		catalog: catalog.New(catalog.Options{
			Kinds: mapper, Schemas: schemas, Definitions: definitions,
			Namespace: e.options.Namespace, Limits: e.options.Limits, RuleID: mark.RuleID, Recorded: e.records.Names, Annotations: e.records.Annotations,
		}, time.Now()),
		reporter: e.newReporter(),
		planner:  operator.NewPlanner(catalog.CompilerKinds(mapper), e.records, e.covers),
		known:    make(map[string]*operator.Operator),
		removals: removals{since: make(map[string]time.Time), reported: make(map[string]string)},
	}
	group, ctx := errgroup.WithContext(ctx)
	for _, run := range []func(context.Context){schemas.Run, definitions.Run, l.run} {
		group.Go(func() error { run(ctx); return nil })
	}
	e.onceLeading(ctx, group, func() {
		definitions.Retry()
		e.inbox.Notify()
		l.reporter.Run(ctx)
	})
	return group.Wait()
}

// newReporter makes the reporter for the sources that accept reports.
func (e *Engine) newReporter() *catalog.Reporter {
	options := catalog.ReporterOptions{Counter: e.activity, Recorder: e.options.Recorder, RecordOf: e.records.Reference}
	for _, src := range e.options.Sources {
		if recipient, ok := src.(catalog.Recipient); ok {
			options.Recipients = append(options.Recipients, recipient)
		}
	}
	return catalog.NewReporter(options)
}

func (l *catalogLoop) run(ctx context.Context) {
	l.engine.inbox.Bell().Loop(ctx, catalog.GracePeriod, func() time.Duration { return l.update(ctx) })
}

// update processes what changed. It returns when to call it again even if nothing changes; zero means never.
func (l *catalogLoop) update(ctx context.Context) (again time.Duration) {
	e := l.engine
	readAll := e.unread.Load() == 0
	l.catalog.Update(e.inbox.Take(), time.Now())
	l.publish(ctx)
	if readAll {
		e.taken.Store(true)
	}
	starting, failing := l.problems()
	reports, again := l.catalog.Reports(starting, failing, time.Now())
	again = soonest(again, l.reportRemovals(ctx, time.Now()))
	l.noteKnown(reports)
	l.countObjects(reports)
	if e.leads() {
		e.recordReports(reports)
		l.reporter.Report(reports, l.catalog.HasOrigin)
	}
	return again
}
