package engine

import (
	"context"
	"fmt"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kanon.dev/kanon/engine/operator"
	"kanon.dev/kanon/engine/outcome"
)

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
func (e *Engine) findHiddenParents(ctx context.Context, op *operator.Operator) outcome.Outcome {
	options := metav1.ListOptions{Limit: hiddenParentsPage}
	parents := e.options.Client.Resource(op.Parent.GVR).Namespace(op.Identity.Home())
	for {
		list, err := parents.List(ctx, options)
		if apierrors.IsForbidden(err) {
			logr.FromContextOrDiscard(ctx).V(1).Info("Parents with the finalizer that the selector does not select are not searched for", "reason", err.Error())
			return outcome.Outcome{}
		}
		if err != nil {
			return outcome.Outcome{Verdict: outcome.Again, Err: fmt.Errorf("search for parents with the finalizer: %w", err)}
		}
		for i := range list.Items {
			if parent := &list.Items[i]; op.HasFinalizer(parent) && !op.InView(parent) {
				k := keyOf(op.ID, parent)
				e.parents.SetFinalizer(k, true)
				e.queue.Add(k)
			}
		}
		if options.Continue = list.GetContinue(); options.Continue == "" {
			return outcome.Outcome{}
		}
	}
}
