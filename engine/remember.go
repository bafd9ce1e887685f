package engine

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"kanon.dev/kanon/engine/catalog"
	"kanon.dev/kanon/restmapping"
)

// remember asks for what the record of a rule must say before the rule writes
// anything: the kinds of objects that it is about to make, above all. They are never
// taken out here, so a kind that the rule drops is still known after a restart.
func (e *Engine) remember(op *operator, origin recordedOrigin) {
	op.origin = origin
	e.records.want(op.id, op.enter)
}

// enter puts into a record what the operator needs to have in it.
func (op *operator) enter(r *ruleRecord) {
	if op.removal != nil {
		return // nothing is made any more
	}
	r.Rule, r.Origin, r.OnRuleDeletion = op.name.String(), op.origin, op.program.OnRuleDeletion()
	r.ConditionPrefix, r.Conditions = op.program.ConditionPrefix(), op.program.ConditionTypes()
	if n := len(r.Parents); n == 0 || r.Parents[n-1].gvk() != op.parent.GVK {
		r.addParent(op.parent.GVK)
	}
	for _, gvk := range slices.SortedFunc(maps.Keys(op.children), compareKinds) {
		r.addChild(gvk)
	}
	r.Holds = r.Holds || op.mayHold()
	op.enterPatches(r)
}

// isRemembered tells whether the cluster has the operator's record.
func (e *Engine) isRemembered(op *operator) bool {
	if op.remembered.Load() {
		return true
	}
	stored, ok := e.records.stored(op.id)
	if !ok {
		return false
	}
	entered := stored.clone()
	op.enter(&entered)
	if !entered.equal(&stored) {
		return false
	}
	op.remembered.Store(true)
	return true
}

// recorded wakes what waited for a record. The records call it.
func (e *Engine) recorded(id string) {
	if op := e.running.load().byID[id]; op != nil {
		if op.removal == nil && op.begun.Load() && e.looked(op) {
			e.judge(op)
		} else {
			e.enqueueAll(op)
		}
	}
	e.inbox.Notify()
}

// rememberHeld has the record of a rule in a file say what the rule's revision would delete
// and must not. That is known while it is held, and once it is free; in between it stays.
func (e *Engine) rememberHeld() {
	held := e.guards.held()
	for id, op := range e.running.load().byID {
		message := ""
		if op.origin.Path != "" {
			message = held[id]
		}
		if op.removal != nil || message == "" && op.origin.Path != "" && !e.isFree(op) {
			continue
		}
		e.records.wantFrom(id, func() bool { return e.isCurrent(op) }, func(r *ruleRecord) { r.Held = message })
	}
}

// rememberPaused has the records of rules that do not run say what their texts say of their removal and where they stand: a
// rule that is removed then ends as its last text has it, and not as the last one that ran.
func (e *Engine) rememberPaused(all []catalog.Rule) {
	for _, rule := range all {
		if rule.Program != nil {
			continue
		}
		if _, made := e.records.stored(rule.ID); made {
			e.records.want(rule.ID, func(r *ruleRecord) {
				r.Origin, r.OnRuleDeletion = originOf(rule.Origin), rule.OnRuleDeletion(r.OnRuleDeletion)
			})
		}
	}
}

// previous is the operator in whose place a new one comes: the one that this process
// knows, or else what is remembered of it.
func (e *Engine) previous(known *operator, rule catalog.Rule) *operator {
	stored, ok := e.records.stored(rule.ID)
	if known != nil || !ok {
		return known
	}
	return stored.remains(rule)
}

// remains is what a record knows of the operator that a rule had in another process.
func (r *ruleRecord) remains(rule catalog.Rule) *operator {
	op := &operator{id: rule.ID, name: rule.Name, retired: make(map[schema.GroupVersionKind]restmapping.Kind)}
	for _, kind := range r.Children {
		op.absent = append(op.absent, kind.gvk()) // as far as it is known here
	}
	return op
}
