package reconcile

import (
	"context"
	"slices"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/cache"

	"kanon.dev/kanon/engine/apply/fieldset"
	"kanon.dev/kanon/engine/operator"
	"kanon.dev/kanon/engine/outcome"
	"kanon.dev/kanon/engine/parents"
	"kanon.dev/kanon/engine/plan"
	"kanon.dev/kanon/engine/queue"
	"kanon.dev/kanon/engine/request"
	"kanon.dev/kanon/rules/syntax"
)

// cleanUpRemoved takes back what a rule that is gone said of one parent, and finishes the removal with the last one. parent is
// nil where it is gone too. A parent that is suspended is left alone until it is not; its event comes here again.
func (r *Reconciler) cleanUpRemoved(ctx context.Context, op *operator.Operator, k queue.Key, parent *unstructured.Unstructured) outcome.Outcome {
	var out outcome.Outcome
	if !op.Removal.KeepsChildren() {
		if doubt := r.checkAbsent(ctx, op); doubt != nil { // there may be children that nobody would end any more
			if op.Removal.FirstWait() {
				logr.FromContextOrDiscard(ctx).Info("children of a rule that was removed wait until it is known whether the cluster has their kinds",
					"rule", op.Name.String(), "reason", doubt.Error())
			}
			return outcome.Outcome{Verdict: outcome.Again, Waits: doubt.Error()}
		}
	}
	switch {
	case parent == nil:
	case request.IsSuspended(parent) && r.mayHaveFields(op, k, parent):
		return outcome.Outcome{Verdict: r.skipSuspended(op, k, parent), Waits: "parent " + k.Parent.String() + " is suspended"}
	case request.IsSuspended(parent): // all the rules for its kind come here
	case parent.GetDeletionTimestamp() != nil && op.HasFinalizer(parent):
		out = r.pass(ctx, r.deletionOf(op, k, parent), (*pass).cleanUp)
	case parent.GetDeletionTimestamp() == nil && r.mayHaveFields(op, k, parent) && (r.waitsForOtherRule(ctx, op, parent) || !r.Guard.MayCleanUp(op)):
		return outcome.Outcome{ // also where the other one has only just begun to run, and has not looked yet
			Verdict: outcome.Again, Waits: "another rule for the same kind of parents does not run yet, and may want the children",
		}
	case parent.GetDeletionTimestamp() == nil:
		out = r.pass(ctx, newSubject(op, k, parent, &parents.Memory{}, r.Now()), (*pass).cleanUpUnselected)
	}
	if out.Verdict != outcome.Settled || out.Err != nil {
		return out
	}
	r.forget(op, k)
	if op.Removal.Done(k) {
		r.Removed(op)
	}
	return out
}

// mayHaveFields tells whether a parent may have something of a rule. One whose field managers are not known may.
func (r *Reconciler) mayHaveFields(op *operator.Operator, k queue.Key, parent *unstructured.Unstructured) bool {
	return op.HasFinalizer(parent) || r.hasChildren(op, k) || fieldset.IsManaged(parent, op.ID)
}

// hasNothingToRemove tells whether a removed rule has nothing of a parent. Such a parent is none of its business any more, and takes no
// rights, so the rule of a ServiceAccount that never had any is removed, too.
func (r *Reconciler) hasNothingToRemove(op *operator.Operator, k queue.Key, parent *unstructured.Unstructured) bool {
	return op.Removal != nil && parent != nil && !r.mayHaveFields(op, k, parent)
}

// waitsForOtherRule tells whether children of a parent would be deleted that a rule which does not run may want: it may be the
// one that is gone, under a new name. The log says so once.
func (r *Reconciler) waitsForOtherRule(ctx context.Context, op *operator.Operator, parent *unstructured.Unstructured) bool {
	set := r.Running.Load()
	if op.Removal.KeepsChildren() || set.Rules[op.ID] {
		return false // a rule that has another kind of parents now has its name still
	}
	paused := set.Paused[op.Parent.GVK.GroupKind()]
	i := slices.IndexFunc(paused, func(other *syntax.Rule) bool { return other.MaySelect(parent, plan.NamespaceLabels(r.Monitors)) })
	if i < 0 {
		return false
	}
	if op.Removal.FirstWait() {
		logr.FromContextOrDiscard(ctx).Info("children of a rule that was removed wait for another rule, which does not run and may want them, to run or be removed",
			"rule", op.Name.String(), "other", paused[i].Name, "parent", cache.MetaObjectToName(parent).String())
	}
	return true
}
