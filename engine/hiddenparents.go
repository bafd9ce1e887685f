package engine

import (
	"context"
	"fmt"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kanon.dev/kanon/engine/queue"
)

// seekPage is how many parents are read at once when those are sought that have the finalizer and that no informer shows.
const hiddenParentsPage = 500

// seekKey is the work of looking once, when a rule starts, for parents that it holds
// and does not see.
func hiddenParentsKey(op *operator) queue.Key { return queue.Key{Rule: op.ID} }

// mustSeek tells whether parents may be out of view, held since before the rule
// started, be it by an earlier revision: one without children is found by nothing else.
func (e *Engine) mustFindHiddenParents(op *operator) bool {
	stored, _ := e.records.Get(op.ID)
	return op.IsNarrow() && (op.MayNeedFinalizer() || stored.Finalizers) && !op.searched.Swap(true)
}

// seek wakes the parents that the rule holds and does not see. Where Kanon may not
// list them all, it cannot have held what it cannot read.
func (e *Engine) findHiddenParents(ctx context.Context, op *operator) outcome {
	options := metav1.ListOptions{Limit: hiddenParentsPage}
	for {
		list, err := e.options.Client.Resource(op.Parent.GVR).List(ctx, options)
		if apierrors.IsForbidden(err) {
			logr.FromContextOrDiscard(ctx).V(1).Info("parents that are held out of view are not looked for", "reason", err.Error())
			return outcome{}
		}
		if err != nil {
			return outcome{verdict: again, err: fmt.Errorf("look for parents out of view: %w", err)}
		}
		for i := range list.Items {
			if parent := &list.Items[i]; op.HasFinalizer(parent) && !op.InView(parent) {
				k := keyOf(op.ID, parent)
				e.parents.SetFinalizer(k, true)
				e.queue.Add(k)
			}
		}
		if options.Continue = list.GetContinue(); options.Continue == "" {
			return outcome{}
		}
	}
}
