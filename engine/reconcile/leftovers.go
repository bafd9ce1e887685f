package reconcile

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"kanon.dev/kanon/engine/apply/fieldset"
	"kanon.dev/kanon/engine/apply/mark"
	"kanon.dev/kanon/engine/conditions"
	"kanon.dev/kanon/engine/operator"
	"kanon.dev/kanon/engine/queue"
)

// The creation of a child may reach the API server after the cleanup of its parent: its connection was cut, or its
// sender had lost the lease. The garbage collector deletes such a leftover if it has an owner reference. Kanon deletes
// the others, if it has cleaned up after that parent itself, or once another parent has the name. Otherwise somebody may
// have removed the finalizer to keep them.

// maxCleanedUp is how many parents are remembered after their cleanup. What was sent before arrives within seconds.
const maxCleanedUp = 10_000

// cleanup names the cleanup of a parent after one rule.
type cleanup struct {
	rule   string
	parent types.UID
}

// noteCleanedUp remembers that the parent was cleaned up, and whether its children were orphaned. Only the reconcile of
// the parent for the rule calls it.
func (p *pass) noteCleanedUp() {
	key := cleanup{p.op.ID, p.parent.GetUID()}
	orphaned, _ := p.r.cleanedUp.Get(key)
	p.r.cleanedUp.Add(key, orphaned == true || p.orphaning || p.propagation() == metav1.DeletePropagationOrphan)
}

// isLeftover reports whether a child of the rule may be a leftover: it has no owner reference, and Kanon wrote it since it
// exists. What a backup restored has the mark, and perhaps the entry of Kanon's field manager from before.
func (r *Reconciler) isLeftover(op *operator.Operator, child operator.Child) bool {
	created := child.Object.GetCreationTimestamp().Time
	return child.IsMarked && child.Owner.RuleID == op.ID && child.Owner.Tracked && !mark.RefersTo(child.Object, child.Owner.Parent.UID) &&
		slices.ContainsFunc(fieldset.EntriesOf(child.Object), func(e fieldset.Entry) bool { return e.Ours() && !e.Time().Before(created) })
}

// owns reports whether it is proven that the rule created a child for this very parent, or that the child is a leftover
// of an earlier parent of the same name.
func (p *pass) owns(child operator.Child) bool {
	if !child.IsMarked || child.Owner.RuleID != p.op.ID {
		return false
	}
	parent := p.op.Owner(p.parent, "").Parent
	return child.Owner.Parent.UID == parent.UID || child.Owner.IsFor(parent) && p.r.isLeftover(p.op, child)
}

// errEarlierParent reports that the informer of the parents is behind: the parent that it shows is not the one that
// exists.
var errEarlierParent = conditions.Transient("the parent that created it exists")

// checkEarlier returns an error if a child belongs to another parent than this one, and that parent may exist.
func (p *pass) checkEarlier(ctx context.Context, child operator.Child) error {
	if child.Owner.Parent.UID == p.parent.GetUID() {
		return nil
	}
	parent, err := p.r.getParent(ctx, p.op, p.key)
	if err == nil && parent != nil && parent.GetUID() == child.Owner.Parent.UID {
		err = errEarlierParent
	}
	return err
}

// endLate deletes the leftovers of parents that were cleaned up. parent is nil, or is being deleted without the rule's
// finalizer.
func (r *Reconciler) endLate(ctx context.Context, op *operator.Operator, k queue.Key, parent *unstructured.Unstructured) error {
	if op.Removal.KeepsChildren() || parent != nil && conditions.IsSuspended(parent) {
		return nil
	}
	var errs []error
	names, tags := r.namesOf(op, k), op.TagsOf(k)
	ctx = discreet(ctx, names)
	for kind := range op.ChildKinds() {
		for _, obj := range r.childHeads(op, kind.GVR, tags) {
			child := r.childOf(kind.GVR, obj)
			if !r.isLate(op, child) {
				continue
			}
			logr.FromContextOrDiscard(ctx).Info("Deleting a child that was created after the cleanup of its parent", "child", mark.RefOf(obj))
			if err := r.Writer.Delete(ctx, kind.GVR, obj); err != nil {
				errs = append(errs, names.Error(fmt.Errorf("delete %s, whose parent is gone: %w", mark.RefOf(obj), err)))
			}
		}
	}
	return errors.Join(errs...)
}

// isLate reports whether a child is to be deleted because the cleanup of its parent missed it.
func (r *Reconciler) isLate(op *operator.Operator, child operator.Child) bool {
	if child.IsDeleting() || !r.isLeftover(op, child) || (operator.Policies{ByNode: op.Deletions}).KeepsDeleted(child) {
		return false
	}
	orphaned, noted := r.cleanedUp.Get(cleanup{op.ID, child.Owner.Parent.UID})
	return noted && orphaned == false
}
