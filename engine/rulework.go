package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kanon.dev/kanon/engine/operator"
	"kanon.dev/kanon/engine/queue"
	"kanon.dev/kanon/engine/tenant"
)

// ruleKey is the key for work that concerns a rule and none of its parents.
func ruleKey(op *operator.Operator) queue.Key { return queue.Key{Rule: op.ID} }

// hasRuleWork reports whether there is such work when a rule starts.
func (e *Engine) hasRuleWork(op *operator.Operator) bool {
	return asksForAll(op) || e.mustFindHiddenParents(op)
}

// doRuleWork does the work that concerns a rule and none of its parents.
func (e *Engine) doRuleWork(ctx context.Context, op *operator.Operator) queue.Outcome {
	if e.mustFindHiddenParents(op) {
		if out := e.findHiddenParents(ctx, op); out.Verdict != queue.Settled {
			return out
		}
		op.Searched.Store(true)
	}
	if asksForAll(op) {
		return e.askForAll(ctx, op)
	}
	return queue.Outcome{}
}

// asksForAll reports whether Kanon asks once, for all parents of a rule, whether the rule may read them. The report on
// a tenant's rule must not depend on objects that the tenant may not read: a refusal because of one parent, or a count
// of parents, would reveal that a parent with the selected labels exists.
func asksForAll(op *operator.Operator) bool { return op.Identity.Confined && op.Removal == nil }

// askForAll asks whether a tenant's rule may read all objects of its parents' kind in the tenant's namespace.
func (e *Engine) askForAll(ctx context.Context, op *operator.Operator) queue.Outcome {
	err := e.reads.Check(ctx, op.Identity, tenant.Read{Resource: op.Parent.GVR, Namespace: op.Identity.Home()})
	if denied, ok := errors.AsType[*tenant.DeniedError](err); ok {
		op.ReadsParents.Store(false)
		out := queue.Await(queue.RightsChange)
		out.After, out.Denied = tenant.Lifetime, denied.Error()
		return out
	}
	if err != nil {
		return queue.Outcome{Verdict: queue.Again, Err: err}
	}
	if !op.ReadsParents.Swap(true) {
		e.objectCounts.changed()
	}
	return queue.Outcome{}
}

// hiddenParentsPage is the page size of the search for parents that have the finalizer and that no informer shows.
const hiddenParentsPage = 500

// mustFindHiddenParents reports whether parents that the informer does not show may have the finalizer of the rule or
// of an earlier revision. Nothing else finds such a parent if it has no children.
func (e *Engine) mustFindHiddenParents(op *operator.Operator) bool {
	stored, _ := e.records.Get(op.ID)
	return op.IsNarrow() && (op.MayNeedFinalizer() || stored.Finalizers) && !op.Searched.Load()
}

// findHiddenParents enqueues the parents that have the rule's finalizer and that its informer does not show. If Kanon
// may not list all parents, it cannot have added a finalizer to one that it cannot read.
func (e *Engine) findHiddenParents(ctx context.Context, op *operator.Operator) queue.Outcome {
	options := metav1.ListOptions{Limit: hiddenParentsPage}
	parents := e.options.Client.Resource(op.Parent.GVR).Namespace(op.Identity.Home())
	for {
		list, err := parents.List(ctx, options)
		if apierrors.IsForbidden(err) {
			logr.FromContextOrDiscard(ctx).V(1).Info("Parents with the finalizer that the selector does not select are not searched for", "reason", err.Error())
			return queue.Outcome{}
		}
		if err != nil {
			return queue.Outcome{Verdict: queue.Again, Err: fmt.Errorf("search for parents with the finalizer: %w", err)}
		}
		for i := range list.Items {
			if parent := &list.Items[i]; op.HasFinalizer(parent) && !op.InView(parent) {
				k := keyOf(op.ID, parent)
				e.parents.SetFinalizer(k, true)
				e.queue.Add(k)
			}
		}
		if options.Continue = list.GetContinue(); options.Continue == "" {
			return queue.Outcome{}
		}
	}
}
