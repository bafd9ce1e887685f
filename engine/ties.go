package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kanon.dev/kanon/engine/queue"
	"kanon.dev/kanon/restmapping"
)

// Children are tied to their parent in one of two ways. Where Kubernetes allows it
// they carry a controller ownerReference, and the garbage collector takes them when
// the parent goes. All others are known by their labels and the owner annotation,
// and a finalizer of the rule holds the parent until they are gone.

// seekPage is how many parents are read at once when those are sought that have the finalizer and that no informer shows.
const hiddenParentsPage = 500

// holdToFinalize holds the parent of a rule that has to finalize it, whether it has
// children or not, and tells whether it is held.
func (p *pass) addFinalizerToFinalize(ctx context.Context) bool {
	if !p.op.Program.Finalizes() {
		return true
	}
	if err := p.finalizer.add(ctx); err != nil {
		p.add(problemOfFinalizer(err))
		return false
	}
	return true
}

// unhold lets a parent go that nothing needs to hold any more. It comes after all
// writes and prunes.
func (p *pass) removeFinalizerIfUnneeded(ctx context.Context) {
	if p.finalizer.needed || !p.op.HasFinalizer(p.parent) || len(p.problems) > 0 || p.deleter.isBlocked() || p.isSuspended() {
		return
	}
	var err error
	if !p.op.removal.keepsChildren() {
		err = p.deleter.checkEnded(ctx)
	}
	if err == nil {
		err = p.finalizer.remove(ctx)
	}
	if err != nil && (!errors.Is(err, errNotEnded) || p.op.removal != nil) {
		p.add(problemOfFinalizer(err))
	}
}

// checkAbsent fails unless the cluster is known not to have the kinds that the rule's
// children had and that it did not show when the operator was planned: with a kind, all
// its objects went. A kind that is served in other versions has them still.
func (e *Engine) checkAbsent(ctx context.Context, op *operator) error {
	for _, gvk := range op.Absent {
		_, err := e.options.Mapper.Kind(ctx, gvk)
		if err == nil {
			e.inbox.Notify() // so that it does
			return fmt.Errorf("the cluster has the kind %s again, and the rule is about to look at its objects", gvk)
		}
		unknown, ok := errors.AsType[*restmapping.UnknownKindError](err)
		if !ok || len(unknown.Served) > 0 && !op.HasKind(gvk.GroupKind()) {
			return err
		}
	}
	return nil
}

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
