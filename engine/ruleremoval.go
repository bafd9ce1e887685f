package engine

import (
	"context"
	"slices"
	"strings"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/cache"

	"kanon.dev/kanon/engine/apply/fieldset"
	"kanon.dev/kanon/engine/apply/mark"
	"kanon.dev/kanon/engine/operator"
	"kanon.dev/kanon/engine/outcome"
	"kanon.dev/kanon/engine/parents"
	"kanon.dev/kanon/engine/queue"
	"kanon.dev/kanon/engine/record"
	"kanon.dev/kanon/engine/source"
	"kanon.dev/kanon/rules"
)

// covers tells whether one of the sources would find a text at an origin: a rule in a file
// is not removed because this process was started without that file.
func (e *Engine) covers(origin source.Origin) bool {
	return slices.ContainsFunc(e.options.Sources, func(s Source) bool {
		covering, ok := s.(interface{ Covers(source.Origin) bool })
		return ok && covering.Covers(origin)
	})
}

// cleanUpRemovedRule takes back what a rule that is gone said of one parent, and finishes the
// removal with the last one. parent is nil where it is gone too. A parent that is
// suspended is left alone until it is not; its event comes here again.
func (e *Engine) cleanUpRemovedRule(ctx context.Context, op *operator.Operator, k queue.Key, parent *unstructured.Unstructured) outcome.Outcome {
	var out outcome.Outcome
	if !op.Removal.KeepsChildren() {
		if doubt := e.checkAbsent(ctx, op); doubt != nil { // there may be children that nobody would end any more
			if op.Removal.FirstWait() {
				logr.FromContextOrDiscard(ctx).Info("children of a rule that was removed wait until it is known whether the cluster has their kinds",
					"rule", op.Name.String(), "reason", doubt.Error())
			}
			return outcome.Outcome{Verdict: outcome.Again}
		}
	}
	switch {
	case parent == nil:
	case isSuspended(parent) && e.mayHaveFields(op, k, parent):
		return outcome.Outcome{Verdict: e.skipSuspended(op, k, parent)}
	case isSuspended(parent): // all the rules for its kind come here
	case parent.GetDeletionTimestamp() != nil && op.HasFinalizer(parent):
		out = e.reconcileDeletion(ctx, op, k, parent, e.options.Clock.Now())
	case parent.GetDeletionTimestamp() == nil && e.mayHaveFields(op, k, parent) && (e.waitsForOtherRule(ctx, op, parent) || !e.isTurnOf(op)):
		return outcome.Outcome{Verdict: outcome.Again} // also where the other one has only just begun to run, and has not looked yet
	case parent.GetDeletionTimestamp() == nil:
		p := e.newPass(ctx, newSubject(op, k, parent, &parents.Memory{}, e.options.Clock.Now()))
		out = p.cleanUpRemoved(ctx)
	}
	if out.Verdict != outcome.Settled || out.Err != nil {
		return out
	}
	e.forget(op, k)
	if op.Removal.Done(k) {
		e.finishRemoval(op)
	}
	return out
}

// mayHaveFields tells whether a parent may have something of a rule. One whose field managers
// are not known may.
func (e *Engine) mayHaveFields(op *operator.Operator, k queue.Key, parent *unstructured.Unstructured) bool {
	return op.HasFinalizer(parent) || e.cluster.hasChildren(op, k) || fieldset.IsManaged(parent, op.ID)
}

// finishRemoval forgets a rule, or its former kind of parents, once nothing of it is left.
func (e *Engine) finishRemoval(op *operator.Operator) {
	stored, ok := e.records.Get(op.ID)
	if !ok || e.patches.IsRestoring(op.ID) {
		return // the last patch that is released comes here again
	}
	entitled := func() bool { return e.running.IsCurrent(op) }
	left := slices.DeleteFunc(stored.Parents, func(kind record.Kind) bool { return kind.GVK() == op.Removal.Parent })
	if len(left) == 0 {
		e.records.DeleteIf(op.ID, entitled)
		return
	}
	e.records.UpdateIf(op.ID, entitled, func(r *record.Record) { r.Parents = left })
}

// isGone tells whether the rule that a child's owner names is known to be no more, and
// was one of this installation.
func (e *Engine) isGone(owner mark.Owner) bool {
	known := e.running.Load().Rules
	if known == nil || known[owner.RuleID] {
		return false
	}
	// A seal is of this installation's key. A former mark has none, and names the rule.
	namespace, name, named := strings.Cut(owner.Rule, "/")
	return !named || mark.RuleID(e.options.Namespace, namespace, name) == owner.RuleID
}

// isTurnOf tells whether a removal may begin to delete: not before the other rules for
// the same kind of parents have taken over what they render. It holds for all else.
func (e *Engine) isTurnOf(op *operator.Operator) bool {
	if op.Removal == nil || op.Removal.KeepsChildren() {
		return true
	}
	for _, other := range e.running.Load().ByID {
		if other.Removal == nil && other.Parent.GVK.GroupKind() == op.Parent.GVK.GroupKind() && !e.isEvaluated(other) {
			return false
		}
	}
	return true
}

// waitsForOtherRule tells whether children of a parent would be deleted that a rule which does not run may want: it may be the
// one that is gone, under a new name. The log says so once.
func (e *Engine) waitsForOtherRule(ctx context.Context, op *operator.Operator, parent *unstructured.Unstructured) bool {
	set := e.running.Load()
	if op.Removal.KeepsChildren() || set.Rules[op.ID] {
		return false // a rule that has another kind of parents now has its name still
	}
	paused := set.Paused[op.Parent.GVK.GroupKind()]
	i := slices.IndexFunc(paused, func(r *rules.Rule) bool { return r.MaySelect(parent, e.cluster.namespaceLabels) })
	if i < 0 {
		return false
	}
	if op.Removal.FirstWait() {
		logr.FromContextOrDiscard(ctx).Info("children of a rule that was removed wait for another rule, which does not run and may want them, to run or be removed",
			"rule", op.Name.String(), "other", paused[i].Name, "parent", cache.MetaObjectToName(parent).String())
	}
	return true
}

// enqueueRemovals enqueues the parents of removals that may have waited for a rule: until it has reconciled all its parents, or
// does not run any more.
func (e *Engine) enqueueRemovals(op *operator.Operator) {
	for _, other := range e.running.Load().ByID {
		if other.Removal != nil && other.Parent.GVK.GroupKind() == op.Parent.GVK.GroupKind() {
			e.enqueueAll(other)
		}
	}
}
