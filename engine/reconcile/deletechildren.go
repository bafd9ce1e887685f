package reconcile

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kanon.dev/kanon/engine/apply"
	"kanon.dev/kanon/engine/apply/mark"
	"kanon.dev/kanon/engine/conditions"
	"kanon.dev/kanon/engine/ending"
)

// ended lists the children that the garbage collector does not delete with the parent, and of these the ones for which the parent
// waits; none once it need not wait, which only the API server knows for certain.
func (d *deleter) ended(ctx context.Context) (children, awaited []ending.Child, err error) {
	children = d.tracked()
	if awaited = d.awaited(children); len(awaited) > 0 {
		return children, awaited, nil
	}
	children, err = d.listTracked(ctx)
	return children, d.awaited(children), err
}

// awaited lists those of the children for which the parent waits.
func (d *deleter) awaited(children []ending.Child) []ending.Child {
	return ending.Awaited(children, d.awaitsEnd())
}

// awaitsEnd tells whether the parent waits until its children are gone, and not only until they are being deleted.
func (d *deleter) awaitsEnd() bool {
	return d.op.Program.Finalize != nil || d.propagation() == metav1.DeletePropagationForeground
}

// propagation is how the parent is being deleted, as far as its finalizers show or have shown.
func (d *deleter) propagation() metav1.DeletionPropagation {
	shown, seen := ending.Propagation(d.parent), d.Parents.Get(d.key).Deletion
	if shown == metav1.DeletePropagationBackground && seen.UID == d.parent.GetUID() {
		return seen.Propagation
	}
	return shown
}

// isOrphaning tells whether the parent, which is being deleted, is to leave all its children behind. If the finalizer was not
// seen, a child shows it that lost its reference: with a parent that is being deleted, the garbage collector removed it.
func (d *deleter) isOrphaning(lost []ending.Child) bool {
	return len(lost) > 0 || d.propagation() == metav1.DeletePropagationOrphan
}

// endAll deletes or orphans the children of a parent that is being deleted, or reports what blocks that.
func (d *deleter) endAll(ctx context.Context, children []ending.Child) (problems []conditions.Problem) {
	isLost := ending.Child.LostReference
	lost := slices.DeleteFunc(slices.Clone(children), func(child ending.Child) bool { return !isLost(child) })
	d.orphaning = d.isOrphaning(lost)
	next, later := children, []ending.Child(nil)
	if d.op.Program.Finalize != nil {
		next, later = ending.Dependents(children, d.op.Program.Rank)
	}
	for _, child := range slices.DeleteFunc(slices.Clone(next), isLost) {
		problems = append(problems, d.endChild(ctx, child, later)...)
	}
	// Those that lost their reference come last: as long as there are others, they go on showing that the deletion is an
	// orphaning one.
	for _, child := range lost {
		if len(problems) == 0 {
			problems = append(problems, d.endChild(ctx, child, later)...)
		}
	}
	if len(lost) > 0 && len(problems) == 0 {
		d.RequeueAfter(orphanPause) // the event of a child that lost its reference names no parent
	}
	return problems
}

// orphanPause is how long a parent waits to be reconciled again after the last child was orphaned that lost its reference.
const orphanPause = 100 * time.Millisecond

// endChild deletes or orphans a child of a parent that is being deleted, or reports what blocks the end of one that is being
// deleted already. The children that are deleted later wait for it.
func (d *deleter) endChild(ctx context.Context, child ending.Child, later []ending.Child) []conditions.Problem {
	ref := mark.RefOf(child.Object)
	if child.IsDeleting() {
		if !d.awaitsEnd() || len(child.Object.GetFinalizers()) == 0 {
			return nil
		}
		return []conditions.Problem{{Subject: ref.String(), Reason: conditions.ReasonDeleting, Err: d.blocked(child, later)}}
	}
	if err := d.end(ctx, child, d.endings().KeepsDeleted(child)); err != nil {
		return []conditions.Problem{d.redacted(conditions.Problem{Subject: ref.String(), Reason: conditions.ReasonDelete, Err: err})}
	}
	return nil
}

// blocked says which finalizers block the end of a child. If others are deleted after it, one of them may be the cause, such as a
// Pod that uses a volume claim: then the message says the way out.
func (d *deleter) blocked(child ending.Child, later []ending.Child) error {
	text := apply.Terminating(child.Object)
	if len(later) == 0 {
		return errors.New(text)
	}
	next, one := mark.RefOf(later[0].Object).String()+" is", "it"
	if n := len(later) - 1; n > 0 {
		next, one = fmt.Sprintf("%s and %d more are", mark.RefOf(later[0].Object), n), "one of them"
	}
	text += fmt.Sprintf("; %s deleted after that: if %s uses this object, delete it by hand", next, one)
	if node := child.Owner.Node; d.op.Program.Rank(node) >= 0 {
		text += fmt.Sprintf(", and in the rule have it depend on this one (dependsOn: [%s])", node)
	}
	return errors.New(text)
}
