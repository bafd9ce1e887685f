package reconcile

import (
	"context"
	"slices"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/cache"

	"kanon.dev/kanon/engine/apply/fieldset"
	"kanon.dev/kanon/engine/conditions"
	"kanon.dev/kanon/engine/operator"
	"kanon.dev/kanon/engine/queue"
	"kanon.dev/kanon/rules/syntax"
)

// cleanUpRemoved cleans up after a removed rule at one parent, and finishes the removal with the last one. parent is
// nil if it no longer exists. A suspended parent is skipped; the event of its resumption enqueues it again.
func (r *Reconciler) cleanUpRemoved(ctx context.Context, op *operator.Operator, k queue.Key, parent *unstructured.Unstructured) queue.Outcome {
	var out queue.Outcome
	if !op.Removal.KeepsChildren() {
		if doubt := r.checkAbsent(ctx, op); doubt != nil { // there may be children that nobody would ever delete
			if op.Removal.FirstWait() {
				logr.FromContextOrDiscard(ctx).Info("children of a rule that was removed wait until it is known whether the cluster has their kinds",
					"rule", op.Name.String(), "reason", doubt.Error())
			}
			return queue.Outcome{Verdict: queue.Again, Waits: doubt.Error()}
		}
	}
	switch {
	case parent == nil || parent.GetDeletionTimestamp() != nil && !op.HasFinalizer(parent):
		if err := r.endLate(ctx, op, k, parent); err != nil {
			out = queue.Outcome{Verdict: queue.Again, Err: err}
		}
	case conditions.IsSuspended(parent) && r.mayHaveFields(op, k, parent):
		return queue.Outcome{Verdict: r.skipSuspended(op, k, parent), Waits: "parent " + k.Parent.String() + " is suspended"}
	case conditions.IsSuspended(parent): // a removal enqueues all parents of the kind; this one has nothing of the rule
	case parent.GetDeletionTimestamp() != nil && op.HasFinalizer(parent):
		out = r.deletionOf(op, k, parent).do(ctx, (*pass).cleanUp)
	case parent.GetDeletionTimestamp() == nil && r.mayHaveFields(op, k, parent) && (r.waitsForOtherRule(ctx, op, parent) || !r.Guard.MayCleanUp(op)):
		return queue.Outcome{ // also if the other rule has only just started, and has not reconciled the parent yet
			Verdict: queue.Again, Waits: "another rule for the same kind of parents does not run yet, and may want the children",
		}
	case parent.GetDeletionTimestamp() == nil:
		out = r.newPass(op, k, parent, &conditions.Memory{}).do(ctx, (*pass).cleanUpUnselected)
	}
	if out.Verdict != queue.Settled || out.Err != nil {
		return out
	}
	r.forget(op, k)
	if op.Removal.Done(k) {
		r.Removed(op)
	}
	return out
}

// mayHaveFields reports whether a parent may have something of a rule. Of an object without field managers, such as one that
// was created empty, Kanon owns no field, so there is nothing to remove.
func (r *Reconciler) mayHaveFields(op *operator.Operator, k queue.Key, parent *unstructured.Unstructured) bool {
	return op.HasFinalizer(parent) || r.hasChildren(op, k) || len(fieldset.EntriesOf(parent)) > 0 && fieldset.IsManaged(parent, op.ID)
}

// hasNothingToRemove reports whether a removed rule has nothing of a parent. Such a parent needs no cleanup and so no
// rights: the rule of a ServiceAccount that never had any is removed, too.
func (r *Reconciler) hasNothingToRemove(op *operator.Operator, k queue.Key, parent *unstructured.Unstructured) bool {
	return op.Removal != nil && parent != nil && !r.mayHaveFields(op, k, parent)
}

// waitsForOtherRule reports whether children of a parent would be deleted that a rule which does not run may want: it
// may be the removed rule under a new name. It logs this once.
func (r *Reconciler) waitsForOtherRule(ctx context.Context, op *operator.Operator, parent *unstructured.Unstructured) bool {
	set := r.Running.Load()
	if op.Removal.KeepsChildren() || set.Rules[op.ID] {
		return false // the rule still exists, with another kind of parents
	}
	paused := set.Paused[op.Parent.GVK.GroupKind()]
	i := slices.IndexFunc(paused, func(other *syntax.Rule) bool { return other.MaySelect(parent, operator.NamespaceLabels(r.Monitors)) })
	if i < 0 {
		return false
	}
	if op.Removal.FirstWait() {
		logr.FromContextOrDiscard(ctx).Info("children of a rule that was removed wait for another rule, which does not run and may want them, to run or be removed",
			"rule", op.Name.String(), "other", paused[i].Name, "parent", cache.MetaObjectToName(parent).String())
	}
	return true
}
