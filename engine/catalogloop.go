package engine

import (
	"context"
	"fmt"
	"maps"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kanon.dev/kanon/engine/source"
	"kanon.dev/kanon/restmapping"
	"kanon.dev/kanon/rules"
)

// catalogLoop brings the catalog and what rules need together: it takes in what is new of
// texts, kinds, schemas and definitions, has the catalog compile what can be, publishes the
// operators that follow, and hands out what is to be said of them. It never talks to the
// API server itself, so that nothing slow there holds up other rules: schemas are read,
// definitions applied and verdicts given by goroutines of their own, which ring when
// something came of it.
type catalogLoop struct {
	*Engine

	catalog     *catalog
	schemas     *kindSchemas
	definitions *definitions
	reporter    *reporter
	patience    *patience
	// known has the last operator of each rule, also of rules that stopped.
	known map[string]*operator
}

// runCatalog takes in news of rules and kinds until ctx ends.
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
		e.news.addChange(c)
	})
	defer cancel()

	reads := newSchemaReads(mapper, e.options.Schemas, e.options.Client, e.news.ring)
	writes := newDefinitionWrites(e.options.Client, e.news.ring)
	l := &catalogLoop{
		Engine: e, known: make(map[string]*operator), patience: newPatience(time.Now()),
		schemas: newKindSchemas(mapper, reads), definitions: newDefinitions(mapper, writes),
		reporter: newReporter(e.options.Sources, e.notices, e.records.Reference),
	}
	l.catalog = newCatalog(rules.Options{
		Kinds: kinds{mapper}, AwaitKinds: true, Schemas: l.schemas, Namespace: e.options.Namespace, Limits: e.options.Limits,
	}, l.awaits)
	group, ctx := errgroup.WithContext(ctx)
	for _, run := range []func(context.Context){reads.run, writes.run, l.reporter.run, l.run} {
		group.Go(func() error { run(ctx); return nil })
	}
	return group.Wait()
}

func (l *catalogLoop) run(ctx context.Context) {
	timer := time.NewTimer(patienceLimit)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-l.news.signal:
		case <-timer.C:
		}
		timer.Stop()
		if again := l.step(ctx); again > 0 {
			timer.Reset(again)
		}
	}
}

// step takes in what is new, and returns after what time it should be called again although
// nothing is; zero: never.
func (l *catalogLoop) step(ctx context.Context) (again time.Duration) {
	snapshots, changed, groups := l.news.take()
	newText := l.catalog.readTexts(snapshots)
	used := l.catalog.uses()
	changed.addGroups(groups, used)
	l.definitions.update(l.catalog.definitions(), changed)
	maps.Copy(changed, l.schemas.update(used, changed, newText))
	l.catalog.compileAll(changed)
	l.publish(ctx, l.catalog, l.known)
	l.recordBlocked()
	return l.report()
}

// awaits says what a revision with these kinds has to wait for. Rules come after the
// definitions of their own text.
func (l *catalogLoop) awaits(text string, kinds []schema.GroupVersionKind) string {
	if text != "" {
		if definition := l.definitions.awaited(text); definition != "" {
			return definition
		}
	}
	for _, gvk := range kinds {
		waits, err := l.schemas.awaited(gvk)
		if !waits {
			continue
		}
		name := gvk.Kind
		if gvk.Group != "" {
			name += "." + gvk.Group
		}
		if err != nil {
			return fmt.Sprintf("the schema of %s: %v", name, err)
		}
		return fmt.Sprintf("the schema of %s, which is being read", name)
	}
	return ""
}

// report has the verdicts given, except on what is on its way. It returns after what time
// it should be called again.
func (l *catalogLoop) report() (again time.Duration) {
	filling, failing := l.starting(l.catalog)
	maps.Copy(failing, l.guards.blocked())
	reports := l.count(l.catalog, l.catalog.reports(l.definitions.errs(), failing))
	exists := make(map[source.Origin]bool, len(reports))
	busy := l.busy(filling)
	l.patience.keep(busy)
	now := time.Now()
	for origin := range reports {
		exists[origin] = true
		if !busy[origin] {
			continue
		}
		over, left := l.patience.over(origin, now)
		if again == 0 || left < again {
			again = left
		}
		if !over {
			delete(reports, origin)
		}
	}
	l.reporter.report(reports, func(origin source.Origin) bool { return exists[origin] })
	return again
}

// busy has the origins of which something is on its way. filling has the ids of rules that
// are starting.
func (l *catalogLoop) busy(filling map[string]bool) map[source.Origin]bool {
	busy := make(map[source.Origin]bool)
	for text, state := range l.catalog.texts {
		if l.definitions.isBusy(text) {
			busy[state.origin] = true
		}
	}
	for _, e := range l.catalog.entries {
		if state := l.catalog.texts[e.text]; state != nil && (e.due || filling[e.id]) {
			busy[state.origin] = true
		}
	}
	return busy
}
