package engine

import (
	"context"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kanon.dev/kanon/engine/catalog"
	"kanon.dev/kanon/engine/operator"
	"kanon.dev/kanon/engine/record"
	"kanon.dev/kanon/rules/syntax"
)

// publish replaces the running operators by those of the rules that run now and of the removals. It starts and stops
// informers accordingly.
func (l *catalogLoop) publish(ctx context.Context) {
	e := l.engine
	if !e.leads() {
		l.standby(ctx)
		return
	}
	if loaded, _ := e.records.IsLoaded(); loaded && e.keys.Keyring() != nil {
		l.publishRules(ctx)
	} // otherwise the records and the keys notify the inbox once they are read
	e.recordBlocked()
}

func (l *catalogLoop) publishRules(ctx context.Context) {
	e, log, all := l.engine, logr.FromContextOrDiscard(ctx), l.catalog.Rules()
	e.recordPaused(all)
	before := e.running.Load()
	var ops, started []*operator.Operator
	for _, run := range l.planner.Runs(l.catalog, all) {
		rule := run.Rule
		if l.lacksReviews(rule.Program) {
			continue // addDenied reports it
		}
		op, known := before.ByID[rule.ID], l.known[rule.ID]
		if op == nil || op.Program != rule.Program || op.IsOutdated(e.options.Mapper) {
			var err error
			if op, err = operator.New(rule.ID, rule.Name, rule.Program, e.options.Mapper, e.previous(known, rule.ID)); err != nil {
				log.V(1).Info("Cannot start a rule: a kind was removed meanwhile", "rule", rule.Name.String(), "reason", err.Error())
				continue // the mapper has put the change into the inbox
			}
			op.Removal = run.Removal
			if op.Removal == nil {
				e.requireRecord(op, record.OriginOf(rule.Origin))
			}
			e.restartReplaced(known, op)
			started = append(started, op)
			l.known[op.ID] = op
		}
		ops = append(ops, op)
		e.guards.confirm(op, rule.Confirmed)
		op.Verbosity.Store(int32(rule.Verbosity)) //nolint:gosec // 4 at most
	}
	after := operator.NewSet(ops)
	after.Rules, after.Paused = e.idsOf(l.catalog, all), paused(all, e.options.Namespace)
	e.running.Store(after)
	for _, op := range started {
		if replaced := before.ByID[op.ID]; replaced != nil {
			if replaced.Guard != op.Guard {
				e.guards.end(replaced)
			}
			e.noteUnselected(replaced, op)
		}
	}

	for id, op := range before.ByID {
		if after.ByID[id] == nil {
			log.Info("rule stopped", "rule", op.Name.String())
			e.stop(op)
			l.known[id] = op.Remains()
			if op.Removal != nil {
				delete(l.known, id) // nothing of the rule is left
			}
		}
	}
	l.dropAwaiting(after)
	e.begin(log, before, ops, started)
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

// previous returns the operator that a new one replaces: the one that this process knows, or else one made of the
// record.
func (e *Engine) previous(known *operator.Operator, id string) *operator.Operator {
	stored, ok := e.records.Get(id)
	if known != nil || !ok {
		return known
	}
	kinds := make([]schema.GroupVersionKind, len(stored.Children))
	for i, kind := range stored.Children {
		kinds[i] = kind.GVK()
	}
	return operator.Former(kinds)
}
