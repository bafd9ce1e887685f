package engine

import (
	"context"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kanon.dev/kanon/engine/apply/mark"
	"kanon.dev/kanon/engine/background"
	"kanon.dev/kanon/engine/catalog"
	"kanon.dev/kanon/engine/plan"
	"kanon.dev/kanon/kinds/restmapping"
)

// catalogLoop passes changes of texts and kinds to the catalog, publishes the operators of the rules that run, and has
// reports written. It sends no requests, so a request that hangs delays no other rule: background workers read schemas,
// apply definitions and write reports, and notify the inbox of results.
type catalogLoop struct {
	inbox     *catalog.Inbox
	catalog   *catalog.Catalog
	publisher *publisher
	reporter  *background.Reporter
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
		e.enqueueIdentified(c.Identified)
	})
	defer cancel()

	schemas := background.NewSchemaReader(e.activity, mapper, e.options.Schemas, e.options.Client, e.inbox.Notify)
	definitions := background.NewDefinitionWriter(background.DefinitionWriterOptions{
		Counter: e.activity, Client: e.options.Client, Namespace: e.options.Namespace, Recomputes: plan.IsStatusManager,
		MayWrite: e.leads, Arrived: e.inbox.Notify,
	})
	l := &catalogLoop{
		inbox: e.inbox,
		catalog: catalog.New(catalog.Options{
			Kinds: mapper, Schemas: schemas, Definitions: definitions,
			Namespace: e.options.Namespace, Limits: e.options.Limits, RuleID: mark.RuleID, Recorded: e.records.Names, Annotations: e.records.Annotations,
		}, time.Now()),
		publisher: newPublisher(e),
		reporter:  e.newReporter(),
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
func (e *Engine) newReporter() *background.Reporter {
	options := background.ReporterOptions{Counter: e.activity, Recorder: e.options.Recorder, RecordOf: e.records.Reference}
	for _, src := range e.options.Sources {
		if recipient, ok := src.(background.Recipient); ok {
			options.Recipients = append(options.Recipients, recipient)
		}
	}
	return background.NewReporter(options)
}

func (l *catalogLoop) run(ctx context.Context) {
	l.inbox.Bell().Loop(ctx, catalog.GracePeriod, func() time.Duration { return l.update(ctx) })
}

// update processes what changed. It returns when to call it again even if nothing changes; zero means never.
func (l *catalogLoop) update(ctx context.Context) (again time.Duration) {
	readAll := l.publisher.engine.unread.Load() == 0
	l.catalog.Update(l.inbox.Take(), time.Now())
	l.publisher.publish(ctx, l.catalog)
	if readAll {
		l.publisher.engine.taken.Store(true)
	}
	starting, failing := l.publisher.problems(l.catalog)
	reports, again := l.catalog.Reports(starting, failing, time.Now())
	again = soonest(again, l.publisher.reportRemovals(ctx, time.Now()))
	l.publisher.noteKnown(l.catalog, reports)
	l.publisher.countObjects(reports)
	if l.publisher.engine.leads() {
		l.publisher.engine.recordReports(reports)
		l.reporter.Report(reports, l.catalog.HasOrigin)
	}
	return again
}
