package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kanon.dev/kanon/engine/apply/fieldset"
	"kanon.dev/kanon/engine/catalog"
	"kanon.dev/kanon/engine/conditions"
	"kanon.dev/kanon/engine/guard"
	"kanon.dev/kanon/engine/monitor"
	"kanon.dev/kanon/engine/operator"
	"kanon.dev/kanon/engine/plan"
	"kanon.dev/kanon/engine/queue"
	"kanon.dev/kanon/engine/record"
	"kanon.dev/kanon/engine/removal"
	"kanon.dev/kanon/rules/program"
	"kanon.dev/kanon/rules/syntax"
)

// publisher turns the rules of the catalog into operators. One goroutine owns it.
type publisher struct {
	engine *Engine
	// known has the last operator of each rule, including rules that stopped.
	known map[string]*operator.Operator
	// planner decides which rules run.
	planner *removal.Planner
	// awaiting has the rules whose informers sync before the engine leads.
	awaiting map[string]*operator.Operator
	// removals are the removals that wait.
	removals removals
}

func newPublisher(e *Engine) *publisher {
	return &publisher{
		engine: e, known: make(map[string]*operator.Operator),
		planner:  removal.NewPlanner(catalog.CompilerKinds(e.options.Mapper), e.records, e.covers),
		removals: removals{since: make(map[string]time.Time), reported: make(map[string]string)},
	}
}

// publish replaces the running operators by those of the rules that run now and of the removals. It starts and stops
// informers accordingly.
func (p *publisher) publish(ctx context.Context, c *catalog.Catalog) {
	e := p.engine
	if !e.leads() {
		p.standby(ctx, c)
		return
	}
	if loaded, _ := e.records.IsLoaded(); loaded && e.keys.Keyring() != nil {
		p.publishRules(ctx, c)
	} // otherwise the records and the keys notify the inbox once they are read
	e.recordBlocked()
}

func (p *publisher) publishRules(ctx context.Context, c *catalog.Catalog) {
	e, log, all := p.engine, logr.FromContextOrDiscard(ctx), c.Rules()
	e.followRecords(all)
	e.recordPaused(all)
	before := e.running.Load()
	var ops, started []*operator.Operator
	for _, run := range p.planner.Runs(c, all) {
		rule := run.Rule
		if p.lacksReviews(run.Program) {
			continue // addDenied reports it
		}
		op, known := before.ByID[rule.ID], p.known[rule.ID]
		if op == nil || op.Program != run.Program || op.IsOutdated(e.options.Mapper) {
			var err error
			if op, err = operator.New(rule.ID, rule.Name, run.Program, e.options.Mapper, e.previous(known, rule)); err != nil {
				log.V(1).Info("Cannot start a rule: a kind was removed meanwhile", "rule", rule.Name.String(), "reason", err.Error())
				continue // the mapper has put the change into the inbox
			}
			op.Removal = run.Removal
			if op.Removal == nil {
				e.requireRecord(op, record.OriginOf(rule.Origin))
			} else if known != nil {
				op.KeepInformers(known.Plan)
			}
			e.restartReplaced(known, op)
			started = append(started, op)
			p.known[op.ID] = op
		}
		ops = append(ops, op)
		e.guards.confirm(op, rule.Confirmed)
		op.Verbosity.Store(int32(rule.Verbosity)) //nolint:gosec // 4 at most
	}
	plan.ShareInformers(plansOf(ops), plansOf(started))
	after := operator.NewSet(ops)
	after.Rules, after.Paused = e.idsOf(c, all), paused(all, e.options.Namespace)
	e.running.Store(after)
	for _, op := range started {
		e.noteUnselected(before.ByID[op.ID], op)
	}

	for id, op := range before.ByID {
		if after.ByID[id] == nil {
			log.Info("rule stopped", "rule", op.Name.String())
			e.stop(op)
			p.known[id] = &operator.Operator{Plan: op.Remains()}
			if op.Removal != nil {
				delete(p.known, id) // nothing of the rule is left
			}
		}
	}
	p.dropAwaiting(after)
	e.begin(log, before, ops, started)
}

// plansOf returns the plans of operators.
func plansOf(ops []*operator.Operator) []*plan.Plan {
	plans := make([]*plan.Plan, len(ops))
	for i, op := range ops {
		plans[i] = op.Plan
	}
	return plans
}

// idsOf returns the ids of all rules that exist; nil if there may be others. A rule in a namespace with a text that
// cannot be read counts as existing as long as it has a record.
func (e *Engine) idsOf(c *catalog.Catalog, all []catalog.Rule) map[string]bool {
	if !c.IsCompleteIn(e.options.Namespace) {
		return nil
	}
	ids := make(map[string]bool, len(all))
	for _, rule := range all {
		ids[rule.ID] = true
	}
	recorded, _ := e.records.Names()
	for id, name := range recorded {
		if c.Refused(id) || !c.IsCompleteIn(name.Namespace) {
			ids[id] = true
		}
	}
	return ids
}

// paused returns the rules that do not run, by the kind of their parents. It leaves out those of tenants, which have no
// claim to the children of other rules.
func paused(all []catalog.Rule, own string) map[schema.GroupKind][]*syntax.Rule {
	found := make(map[schema.GroupKind][]*syntax.Rule)
	for _, rule := range all {
		if rule.Program == nil && rule.Name.Namespace == own {
			kind := rule.Newest.ParentKind().GroupKind()
			found[kind] = append(found[kind], rule.Newest)
		}
	}
	return found
}

// begin starts the informers of the new operators, and enqueues their parents.
func (e *Engine) begin(log logr.Logger, before *operator.Set, ops, started []*operator.Operator) {
	changed := make(map[string]bool, len(started))
	for _, op := range started {
		changed[op.ID] = true
	}
	for _, k := range e.feedback.Restart(changed) {
		e.queue.Add(k)
	}
	for _, op := range started {
		e.patches.Expect(op)
		if op.Removal != nil {
			e.parents.SetDenied(ruleKey(op), "") // what the rule was not allowed to do is no reason for its removal to wait
			log.Info("cleaning up after a rule", "rule", op.Name.String(), "parent", op.Parent.GVK.String(), "children", op.Removal.Children)
		} else {
			logStart(log, before.ByID[op.ID], op)
			e.records.Update(op.ID, op.UpdateRecord) // again: until now, the previous operator could change the record
		}
		e.monitors.Watch(op.ID, op.Informers()...)
		e.enqueueAll(op)
	}
	for _, op := range ops {
		if op.Removal != nil && !slices.Contains(started, op) {
			e.enqueueAll(op) // the rule that it waited for may have stopped
		}
	}
}

// logStart logs that a rule started or was changed, or why it was started again.
func logStart(log logr.Logger, before, op *operator.Operator) {
	log = log.WithValues("rule", op.Name.String(), "parent", op.Parent.GVK.String())
	switch {
	case before == nil || before.Removal != nil:
		log.Info("rule started", "revision", op.Program.Hash)
	case before.Program.Hash != op.Program.Hash:
		log.Info("rule changed", "revision", op.Program.Hash, "before", before.Program.Hash)
	default:
		log.Info("rule started again, because kinds changed", "revision", op.Program.Hash)
	}
}

// restartReplaced restarts the informers of kinds whose definition was recreated since the previous operator. They
// watch objects that no longer exist, and would notice only after their backoff.
func (e *Engine) restartReplaced(before, after *operator.Operator) {
	if before == nil {
		return
	}
	old := before.Definitions()
	for gvr, uid := range after.Definitions() {
		if was, ok := old[gvr]; ok && was != uid {
			e.monitors.Restart(gvr)
		}
	}
}

// noteUnselected records the parents that the previous operator selected and has fields in, and that the new one does not
// select.
func (e *Engine) noteUnselected(before, after *operator.Operator) {
	if before == nil || before.ParentKey == after.ParentKey || before.Parent.GVR.GroupResource() != after.Parent.GVR.GroupResource() {
		return
	}
	for _, parent := range e.monitors.Heads(before.ParentKey) {
		if !after.InView(parent) && fieldset.IsManaged(parent, after.ID) {
			e.parents.SetUnselected(keyOf(after.ID, parent), true)
		}
	}
}

// enqueueAll enqueues every parent that the operator may have work for. It does nothing while an informer is syncing:
// synced calls it again.
func (e *Engine) enqueueAll(op *operator.Operator) {
	if !e.running.IsCurrent(op) || !e.ready(op) {
		return
	}
	op.Begun.Store(true)
	e.patches.Begin(op, e.remembered(op.ID))
	keys := e.keysOf(op)
	if op.Removal == nil {
		e.guards.begin(op, keys)
		if e.guards.isEvaluated(op) {
			e.enqueueRemovals(op) // otherwise the guard's outcome does, once all parents have reported
		}
	} else {
		left := op.Removal.Begin(keys)
		if len(left) == 0 {
			e.finishRemoval(op)
		}
		maps.Copy(keys, left)
	}
	for k := range keys {
		e.queue.AddPatient(k)
	}
	if e.hasRuleWork(op) {
		e.queue.AddPatient(ruleKey(op))
	}
}

// keysOf lists the parents that the operator may have work for: those that it selects; those that have children,
// because they may have stopped matching the selector while Kanon was not running; and those of which something is
// remembered, so that it is forgotten.
func (e *Engine) keysOf(op *operator.Operator) queue.Keys {
	found := make(queue.Keys)
	for _, parent := range e.monitors.Names(op.ParentKey) {
		found[queue.Key{Rule: op.ID, Parent: parent}] = true
	}
	for kind := range op.ChildKinds() {
		for _, value := range e.monitors.IndexValues(op.ChildKey(kind.GVR), plan.IndexParent) {
			if k, ok := queue.ParseKey(value); ok && k.Rule == op.ID {
				found[k] = true
			}
		}
	}
	for k := range e.remembered(op.ID) {
		if k.Patch == "" {
			found[k] = true
		}
	}
	return found
}

// ready reports whether the rule may begin: its record is written, its informers have synced, and a removal need not
// wait for another rule.
func (e *Engine) ready(op *operator.Operator) bool {
	return e.hasRecord(op) && e.guards.MayCleanUp(op) && !slices.ContainsFunc(op.Informers(), func(key monitor.Key) bool { return !e.monitors.HasSynced(key) })
}

// problems returns the ids of the rules that are starting, and why rules do not run as written. A rule is starting
// until its record is written and its informers have synced. Until that fails, it counts as in force, so that a restart
// in a large cluster changes no report.
func (p *publisher) problems(c *catalog.Catalog) (starting map[string]bool, failing map[string]catalog.Failure) {
	e := p.engine
	starting, failing = make(map[string]bool), make(map[string]catalog.Failure)
	fail := func(id, format string, args ...any) {
		failing[id] = catalog.Failure{Message: fmt.Sprintf("it cannot start: "+format, args...)}
	}
	if loaded, err := e.records.IsLoaded(); !loaded {
		failure := e.keys.Failure()
		for _, rule := range c.Rules() {
			starting[rule.ID] = true
			switch {
			case err != nil:
				fail(rule.ID, "the records of rules cannot be read: %v", err)
			case failure != nil && e.keys.Keyring() == nil:
				fail(rule.ID, "the keys that prove which objects Kanon made cannot be read: %v", failure)
			}
		}
		return starting, failing
	}
	running := e.running.Load().ByID
	for id, op := range running {
		if !e.hasRecord(op) {
			starting[id] = true
			if err := e.records.Failure(id); errors.As(err, new(*record.NewerError)) {
				fail(id, "%v", err)
				continue
			} else if err != nil {
				fail(id, "its record cannot be written: %v", err)
				continue
			}
		}
		for _, key := range op.Informers() {
			if e.monitors.HasSynced(key) {
				continue
			}
			starting[id] = true
			if err := e.monitors.Failure(key); err != nil {
				fail(id, "%v", err)
				break
			}
		}
	}
	p.addDenied(c, failing)
	p.addBlocked(starting, failing)
	return starting, failing
}

// lacksReviews reports whether a rule cannot run because no Reviewer can answer what its ServiceAccount may do.
func (p *publisher) lacksReviews(of *program.Program) bool {
	return of.ServiceAccountName != "" && p.engine.options.Reviewer == nil
}

// addDenied adds the rules whose ServiceAccount lacks rights or cannot be reviewed.
func (p *publisher) addDenied(c *catalog.Catalog, failing map[string]catalog.Failure) {
	for _, rule := range c.Rules() {
		if rule.Program != nil && p.lacksReviews(rule.Program) {
			failing[rule.ID] = catalog.Failure{Message: "it cannot start: Kanon was started without the means to act for a ServiceAccount"}
		}
	}
	for id, op := range p.engine.running.Load().ByID {
		what, parents := p.engine.parents.Denied(id)
		if parents == 0 {
			continue
		}
		if !op.Identity.Confined { // a tenant must not learn how many objects it may not read
			what += fmt.Sprintf(" (for %d of its parents)", parents)
		}
		message := fmt.Sprintf("%s\nto grant what the rule needs: kanon rbac %s --service-account %s | kubectl apply -f -",
			what, cmp.Or(op.Origin.Path, "FILE"), op.Identity.ServiceAccount)
		failing[id] = catalog.Failure{Reason: conditions.ReasonForbidden, Message: message}
	}
}

// addBlocked adds the rules whose revision the guard blocks. They count as starting until the record lists the objects,
// because readers of the report look there.
func (p *publisher) addBlocked(starting map[string]bool, failing map[string]catalog.Failure) {
	e := p.engine
	for id, blocked := range e.guards.blocked() {
		message, op := messageOf(blocked), e.running.Get(id)
		if stored, ok := e.records.Get(id); ok && op != nil && !reflect.DeepEqual(stored.Blocked, blockedRecord(op, blocked)) {
			starting[id] = true
		}
		if op != nil && op.Origin.Path != "" {
			what, why, _ := strings.Cut(message, "\n")
			message = fmt.Sprintf("%s; kanon confirm-prune %s writes that to the record of the rule, or write it to metadata.annotations of the rule in %s\n%s",
				what, op.Name, op.Origin.Path, why)
		}
		failing[id] = catalog.Failure{Reason: conditions.ReasonPruneHeld, Message: message}
	}
}

// messageOf is the report on a rule whose revision the guard blocks.
func messageOf(blocked *guard.Blocked) string {
	return conditions.ReasonPruneHeld + ": " + blocked.String()
}
