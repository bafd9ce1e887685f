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

// ended lists the children that the garbage collector does not delete with the parent, and those of them for which the
// parent waits. Before it reports that the parent waits for none, it asks the API server.
func (d *deleter) ended(ctx context.Context) (children, awaited []ending.Child, err error) {
	children = d.tracked()
	if awaited = d.awaited(children); len(awaited) > 0 {
		return children, awaited, nil
	}
	children, err = d.listTracked(ctx)
	return children, d.awaited(children), err
}

// awaited lists the children for which the parent waits.
func (d *deleter) awaited(children []ending.Child) []ending.Child {
	return ending.Awaited(children, d.awaitsEnd())
}

// awaitsEnd reports whether the parent waits until its children are gone, rather than until their deletion has begun.
func (d *deleter) awaitsEnd() bool {
	return d.op.Program.Finalize != nil || d.propagation() == metav1.DeletePropagationForeground
}

// propagation is the propagation policy of the parent's deletion, as its finalizers show it or have shown it.
func (d *deleter) propagation() metav1.DeletionPropagation {
	shown, seen := ending.Propagation(d.parent), d.Parents.Get(d.key).Deletion
	if shown == metav1.DeletePropagationBackground && seen.UID == d.parent.GetUID() {
		return seen.Propagation
	}
	return shown
}

// endAll deletes or orphans the children of a parent that is being deleted, or reports what blocks that. An orphaning
// deletion keeps all of them. If its finalizer was not seen on the parent, a child that lost its owner reference shows
// it: while a parent is being deleted, the garbage collector removes references only to orphan.
func (d *deleter) endAll(ctx context.Context, children []ending.Child) (problems []conditions.Problem) {
	isLost := ending.Child.LostReference
	lost := slices.DeleteFunc(slices.Clone(children), func(child ending.Child) bool { return !isLost(child) })
	d.orphaning = len(lost) > 0 || d.propagation() == metav1.DeletePropagationOrphan
	next, later := children, []ending.Child(nil)
	if d.op.Program.Finalize != nil {
		next, later = ending.Dependents(children, d.op.Program.Rank)
	}
	for _, child := range slices.DeleteFunc(slices.Clone(next), isLost) {
		problems = append(problems, d.endChild(ctx, child, later)...)
	}
	// Children that lost their reference come last. As long as one is left, it shows that the deletion is an orphaning
	// one.
	for _, child := range lost {
		if len(problems) == 0 {
			problems = append(problems, d.endChild(ctx, child, later)...)
		}
	}
	if len(lost) > 0 && len(problems) == 0 {
		d.RequeueAfter(orphanPause) // the event of a child that lost its reference does not name the parent
	}
	return problems
}

// orphanPause is the delay until the next reconcile after a child was orphaned that had lost its reference.
const orphanPause = 100 * time.Millisecond

// endChild deletes or orphans a child of a parent that is being deleted. If the child is being deleted already, it
// reports what blocks that. The children in later wait for this one.
func (d *deleter) endChild(ctx context.Context, child ending.Child, later []ending.Child) []conditions.Problem {
	ref := mark.RefOf(child.Object)
	if child.IsDeleting() {
		if !d.awaitsEnd() || len(child.Object.GetFinalizers()) == 0 {
			return nil
		}
		return []conditions.Problem{{Subject: ref.String(), Reason: conditions.ReasonDeleting, Err: d.blocked(child, later)}}
	}
	if err := d.end(ctx, child, d.endings().KeepsDeleted(child)); err != nil {
		return []conditions.Problem{{Subject: ref.String(), Reason: conditions.ReasonDelete, Err: err}}
	}
	return nil
}

// blocked names the finalizers that block the deletion of a child. If others are deleted after it, one of them may be
// the cause, such as a Pod that uses a volume claim; then the message also says what to do.
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
