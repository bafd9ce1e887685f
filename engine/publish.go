package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/go-logr/logr"

	"kanon.dev/kanon/engine/apply"
	"kanon.dev/kanon/engine/monitor"
	"kanon.dev/kanon/engine/queue"
	"kanon.dev/kanon/engine/source"
	"kanon.dev/kanon/restmapping"
	"kanon.dev/kanon/rules"
)

// reportRetry is how long the catalog waits before it tries again what it could
// not apply or report; the pause grows up to reportRetryMax while nothing is new.
const (
	reportRetry    = 5 * time.Second
	reportRetryMax = 5 * time.Minute
)

// runCatalog takes in news of rules and kinds until ctx ends: it compiles what
// changed, publishes the operators that follow, and reports to the sources.
func (e *Engine) runCatalog(ctx context.Context) error {
	mapper := e.options.Mapper
	select {
	case <-mapper.Synced():
	case <-ctx.Done():
		return nil
	}
	cancel := mapper.Subscribe(func(c restmapping.Change) {
		for _, gvk := range slices.Concat(c.Added, c.Removed, c.Changed) {
			e.options.Schemas.Forget(gvk.GroupVersion())
		}
		e.news.addChange(c)
	})
	defer cancel()

	schemas := newKindSchemas(mapper, e.options.Schemas, e.options.Client)
	defer schemas.again.Stop()
	catalog := newCatalog(rules.Options{
		Kinds: kinds{mapper}, AwaitKinds: true, Schemas: schemas, Namespace: e.options.Namespace, Limits: e.options.Limits,
	})
	definitions := newDefinitions(e.options.Client)
	last := make(map[source.Origin]source.Report)
	known := make(map[string]*operator)
	retry := time.NewTimer(reportRetry)
	defer retry.Stop()
	var patience patience
	for pause := reportRetry; ; {
		select {
		case <-ctx.Done():
			return nil
		case <-e.news.signal:
			pause = reportRetry
		case <-retry.C:
		case <-schemas.again.C:
		}
		retry.Stop()
		snapshots, changed, groups := e.news.take()
		newText := catalog.readTexts(snapshots)
		changed.addGroups(groups, catalog.uses())
		definitions.forget(changed)
		maps.Copy(changed, schemas.load(ctx, catalog.uses(), changed, newText))
		catalog.compileAll(changed)
		errs := definitions.apply(ctx, catalog.crds())
		e.publish(ctx, catalog, known)
		filling, failing := e.starting(catalog)
		maps.Copy(failing, e.guards.held())
		if !filling && !definitions.settling() {
			patience.reset()
		} else {
			// What is on its way, a kind just defined or an informer that
			// fills, deserves no complaint; if it fails, a later look says so.
			over, left := patience.over(time.Now())
			retry.Reset(left)
			if !over || definitions.settling() {
				continue
			}
		}
		e.rememberHeld()
		err := e.report(ctx, e.count(catalog, catalog.reports(errs, failing)), last)
		if err != nil && ctx.Err() == nil {
			logr.FromContextOrDiscard(ctx).Error(err, "reporting on rules; trying again", "pause", pause)
		}
		if err != nil || len(errs) > 0 {
			retry.Reset(pause)
			pause = min(2*pause, reportRetryMax)
		}
	}
}

// patience bounds how long nothing is said of what is on its way, however much news there is meanwhile. The zero value has
// not begun.
type patience struct{ until time.Time }

// over tells whether it is, and how long it is until it should be asked again. The first call begins it; where it is over it
// begins anew.
func (p *patience) over(now time.Time) (over bool, left time.Duration) {
	over = !p.until.IsZero() && !now.Before(p.until)
	if over || p.until.IsZero() {
		p.until = now.Add(reportRetry)
	}
	return over, p.until.Sub(now)
}

func (p *patience) reset() { p.until = time.Time{} }

// publish makes the catalog's runnable programs the operators that run, and
// starts and stops informers accordingly. known has the last operator of each
// rule, also of rules that stopped.
func (e *Engine) publish(ctx context.Context, c *catalog, known map[string]*operator) {
	log := logr.FromContextOrDiscard(ctx)
	if loaded, _ := e.records.isLoaded(); !loaded || e.keys.Keyring() == nil {
		return // what it has to do with is not known; the bell rings when it is
	}
	e.rememberPaused(c)
	before := e.running.load()
	var ops, started []*operator
	for _, run := range e.runs(c) {
		entry := run.entry
		op := before.byID[entry.id]
		if op == nil || op.program != run.program || op.outdated(e.options.Mapper) {
			var err error
			if op, err = newOperator(entry, run.program, e.options.Mapper, e.previous(known[entry.id], entry)); err != nil {
				log.V(1).Info("a kind went away while its rule was being started", "rule", entry.name.String(), "reason", err.Error())
				continue // the mapper's change is among the news already
			}
			op.removal = run.removal
			if op.removal == nil {
				e.remember(op, c.originOf(entry))
			} else {
				op.lookAs(known[entry.id])
			}
			e.restartReplaced(known[entry.id], op)
			started = append(started, op)
			known[op.id] = op
		}
		ops = append(ops, op)
		e.confirm(op, c.confirmed(entry))
	}
	shareWhole(ops, started)
	after := newOperators(ops)
	after.rules, after.paused = c.ids(), c.paused()
	e.running.store(after)
	for _, op := range started {
		e.noteLeft(before.byID[op.id], op)
	}

	for id, op := range before.byID {
		if after.byID[id] == nil {
			log.Info("rule stopped", "rule", op.name.String())
			e.stop(op)
			if known[id] = op.remains(); op.removal != nil {
				delete(known, id) // nothing of it is left
			}
		}
	}
	e.begin(log, ops, started)
}

// begin has those of the published operators that are new do their work.
func (e *Engine) begin(log logr.Logger, ops, started []*operator) {
	if len(started) > 0 {
		for _, k := range e.causes.release() {
			e.queue.Add(k) // what went round may come to rest now
		}
	}
	for _, op := range started {
		e.contributions.Expect(op.contributing)
		if op.removal != nil {
			log.Info("clearing away what a rule left", "rule", op.name.String(), "parent", op.parent.GVK.String(), "children", op.removal.children)
		} else {
			log.Info("rule started", "rule", op.name.String(), "parent", op.parent.GVK.String())
		}
		if op.removal == nil {
			e.records.want(op.id, op.enter) // again: the one before had a say until now
		}
		e.monitors.Watch(op.id, op.keys()...)
		e.enqueueAll(op)
	}
	for _, op := range ops {
		if op.removal != nil && !slices.Contains(started, op) {
			e.enqueueAll(op) // what it waited for may run no more
		}
	}
}

// restartReplaced starts the informers anew of those kinds whose definition was
// deleted and made again since the operator before: the old ones watch what is
// no more, and would find out only when their back-off lets them.
func (e *Engine) restartReplaced(before, after *operator) {
	if before == nil {
		return
	}
	if before.parent.Definition.UID != after.parent.Definition.UID {
		e.monitors.Restart(after.parent.GVR)
	}
	for kind := range after.childKinds() {
		if old, ok := before.childKind(kind.GVK); ok && old.Definition.UID != kind.Definition.UID {
			e.monitors.Restart(kind.GVR)
		}
	}
	for id, l := range after.lookups {
		if old, ok := before.lookups[id]; ok && old.kind.GVR == l.kind.GVR && old.kind.Definition.UID != l.kind.Definition.UID {
			e.monitors.Restart(l.kind.GVR)
		}
	}
	for id, plan := range after.patches {
		if old, ok := before.patches[id]; ok && old.kind.GVR == plan.kind.GVR && old.kind.Definition.UID != plan.kind.Definition.UID {
			e.monitors.Restart(plan.kind.GVR)
		}
	}
}

// noteLeft notes the parents that the operator will not see and the one before sees, and
// said something in.
func (e *Engine) noteLeft(before, after *operator) {
	if before == nil || before.parentKey == after.parentKey || before.parent.GVR.GroupResource() != after.parent.GVR.GroupResource() {
		return
	}
	for _, parent := range e.monitors.Heads(before.parentKey) {
		if !after.inView(parent) && apply.IsManaged(parent, after.id) {
			e.left.set(keyOf(after.id, parent), true)
		}
	}
}

// report tells the sources the verdict on each origin, which they compare with
// what the origin says, and the log and the Events what changed in it. last holds
// the verdicts given before.
func (e *Engine) report(ctx context.Context, reports, last map[source.Origin]source.Report) error {
	var errs []error
	for origin, report := range reports {
		changed, err := e.reportTo(ctx, origin, report)
		if err != nil {
			errs = append(errs, err)
		}
		previous, told := last[origin]
		if told && equalReports(previous, report) {
			continue // at the most, somebody had taken it away
		}
		last[origin] = report
		logReport(ctx, origin, report) // also where the origin cannot be told
		if changed {
			e.notices.report(origin, report)
		}
		if origin.Path != "" {
			e.notices.reportFile(previous, report, e.records.reference)
		}
	}
	maps.DeleteFunc(last, func(origin source.Origin, _ source.Report) bool {
		_, there := reports[origin]
		return !there
	})
	return errors.Join(errs...)
}

// reportTo gives a verdict to the source that can take it.
func (e *Engine) reportTo(ctx context.Context, origin source.Origin, report source.Report) (changed bool, err error) {
	if origin.Path != "" {
		return false, nil // a file's verdict is in the log, and in Events at the records of its rules
	}
	for _, src := range e.options.Sources {
		if reporter, ok := src.(Reporter); ok && covers(src, origin) {
			return reporter.Report(ctx, origin, report)
		}
	}
	return false, nil
}

// logReport writes what an operator of Kanon should know of an origin, one
// finding a line.
func logReport(ctx context.Context, origin source.Origin, report source.Report) {
	log := logr.FromContextOrDiscard(ctx).WithValues("source", origin.String())
	if report.Ready {
		log.Info("rules accepted", "verdict", report.Message)
		return
	}
	for _, problem := range report.Problems {
		log.Error(errors.New(problem), "rules not in force as written")
	}
	for _, r := range report.Rules {
		if r.Ready {
			continue
		}
		for line := range strings.Lines(r.Message) {
			log.Error(errors.New(strings.TrimSuffix(line, "\n")), "rule not in force as written", "rule", r.Name)
		}
	}
}

func equalReports(a, b source.Report) bool {
	return a.Ready == b.Ready && a.Message == b.Message && slices.Equal(a.Rules, b.Rules)
}

// enqueueAll wakes every parent that the operator may have work for: those in
// view, and those whose children are, so that a parent that left the view
// while Kanon was away is found; and those of which something is known, so that it is
// forgotten of a parent that another revision of the rule does not select. A parent to which something happens
// meanwhile goes before them. It does nothing while an informer is still filling: its Synced call comes here again.
func (e *Engine) enqueueAll(op *operator) {
	if !e.isCurrent(op) || !e.ready(op) {
		return
	}
	op.begun.Store(true)
	e.beginPatches(op)
	keys := e.keysOf(op)
	if op.removal == nil {
		e.guard(op, keys)
		if e.looked(op) {
			e.wakeRemovals(op) // nobody else tells them where the revision is an old one
		}
	} else {
		left := op.removal.begin(keys)
		if len(left) == 0 {
			e.finish(op)
		}
		maps.Copy(keys, left)
	}
	for k := range keys {
		e.queue.AddPatient(k)
	}
	if e.mustSeek(op) {
		e.queue.AddPatient(seekKey(op))
	}
}

// keysOf lists the parents that the operator may have work for.
func (e *Engine) keysOf(op *operator) queue.Keys {
	found := make(queue.Keys)
	for _, parent := range e.monitors.Names(op.parentKey) {
		found[queue.Key{Rule: op.id, Parent: parent}] = true
	}
	for kind := range op.childKinds() {
		for _, value := range e.monitors.IndexValues(op.childKey(kind.GVR), indexParent) {
			if k, ok := queue.ParseKey(value); ok && k.Rule == op.id {
				found[k] = true
			}
		}
	}
	for _, k := range e.remembered(op.id) {
		if k.Patch == "" {
			found[k] = true
		}
	}
	return found
}

// ready tells whether the rule may begin: whether its record says what it must, and
// every informer that the operator needs has filled.
func (e *Engine) ready(op *operator) bool {
	return e.isRemembered(op) && e.isTurnOf(op) && !slices.ContainsFunc(op.keys(), func(key monitor.Key) bool { return !e.monitors.HasSynced(key) })
}

// starting tells whether a record that a rule needs has yet to be written or an
// informer to fill, and, by the rule's id, why that fails where it does. A rule whose informers are filling
// without a failure counts as in force: a restart in a large cluster changes no
// verdict.
func (e *Engine) starting(c *catalog) (filling bool, failing map[string]string) {
	failing = make(map[string]string)
	if loaded, err := e.records.isLoaded(); !loaded {
		reason := ""
		switch failure := e.keys.Failure(); {
		case err != nil:
			reason = fmt.Sprintf("it cannot start: what is remembered of rules cannot be read: %v", err)
		case failure != nil && e.keys.Keyring() == nil:
			reason = fmt.Sprintf("it cannot start: the keys that prove which objects Kanon made cannot be read: %v", failure)
		default:
			return true, failing
		}
		for _, entry := range c.entries {
			failing[entry.id] = reason
		}
		return true, failing
	}
	for id, op := range e.running.load().byID {
		if !e.isRemembered(op) {
			filling = true
			if err := e.records.failure(id); err != nil {
				failing[id] = fmt.Sprintf("it cannot start: it cannot be remembered over a restart: %v", err)
				continue
			}
		}
		for _, key := range op.keys() {
			if e.monitors.HasSynced(key) {
				continue
			}
			filling = true
			if err := e.monitors.Failure(key); err != nil {
				failing[id] = fmt.Sprintf("it cannot start: %v", err)
				break
			}
		}
	}
	return filling, failing
}
