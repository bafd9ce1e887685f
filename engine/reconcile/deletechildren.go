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
	"kanon.dev/kanon/engine/operator"
)

// ended lists the children that the garbage collector does not delete with the parent, and those of them for which the
// parent waits. Before it reports that the parent waits for none, it asks the API server.
func (p *pass) ended(ctx context.Context) (children, awaited []operator.Child, err error) {
	children = p.tracked()
	if awaited = p.awaited(children); len(awaited) > 0 {
		return children, awaited, nil
	}
	children, err = p.listTracked(ctx)
	awaited = p.awaited(children)
	p.missed = p.missed || len(awaited) > 0 // if the informer lists again after their end, it never shows them
	return children, awaited, err
}

// awaited lists the children for which the parent waits.
func (p *pass) awaited(children []operator.Child) []operator.Child {
	return operator.Awaited(children, p.awaitsEnd())
}

// awaitsEnd reports whether the parent waits until its children are gone, rather than until their deletion has begun.
func (p *pass) awaitsEnd() bool {
	return p.op.Program.Finalize != nil || p.propagation() == metav1.DeletePropagationForeground
}

// propagation is the propagation policy of the parent's deletion, as its finalizers show it or have shown it.
func (p *pass) propagation() metav1.DeletionPropagation {
	shown, seen := operator.Propagation(p.parent), p.r.Parents.Get(p.key).Deletion
	if shown == metav1.DeletePropagationBackground && seen.UID == p.parent.GetUID() {
		return seen.Propagation
	}
	return shown
}

// endAll deletes or orphans the children of a parent that is being deleted, or reports what blocks that. An orphaning
// deletion keeps all of them. If its finalizer was not seen on the parent, a child that lost its owner reference shows
// it: while a parent is being deleted, the garbage collector removes references only to orphan.
func (p *pass) endAll(ctx context.Context, children []operator.Child) (problems []conditions.Problem) {
	isLost := operator.Child.LostReference
	lost := slices.DeleteFunc(slices.Clone(children), func(child operator.Child) bool { return !isLost(child) })
	p.orphaning = len(lost) > 0 || p.propagation() == metav1.DeletePropagationOrphan
	if p.orphaning {
		p.noteCleanedUp()
	}
	next, later := children, []operator.Child(nil)
	if p.op.Program.Finalize != nil {
		next, later = operator.Dependents(children, p.op.Program.Rank)
	}
	for _, child := range slices.DeleteFunc(slices.Clone(next), isLost) {
		problems = append(problems, p.endChild(ctx, child, later)...)
	}
	// Children that lost their reference come last. As long as one is left, it shows that the deletion is an orphaning
	// one.
	for _, child := range lost {
		if len(problems) == 0 {
			problems = append(problems, p.endChild(ctx, child, later)...)
		}
	}
	if len(lost) > 0 && len(problems) == 0 {
		p.requeueAfter(orphanPause) // the event of a child that lost its reference does not name the parent
	}
	return problems
}

// orphanPause is the delay until the next reconcile after a child was orphaned that had lost its reference.
const orphanPause = 100 * time.Millisecond

// endChild deletes or orphans a child of a parent that is being deleted. If the child is being deleted already, it
// reports what blocks that. The children in later wait for this one.
func (p *pass) endChild(ctx context.Context, child operator.Child, later []operator.Child) []conditions.Problem {
	ref := mark.RefOf(child.Object)
	if child.IsDeleting() {
		if !p.awaitsEnd() || len(child.Object.GetFinalizers()) == 0 {
			return nil
		}
		return []conditions.Problem{{Subject: ref.String(), Reason: conditions.ReasonDeleting, Err: p.whyBlocked(child, later)}}
	}
	if err := p.end(ctx, child, p.endings().KeepsDeleted(child)); err != nil {
		return []conditions.Problem{{Subject: ref.String(), Reason: conditions.ReasonDelete, Err: err}}
	}
	return nil
}

// whyBlocked names the finalizers that block the deletion of a child. If others are deleted after it, one of them may be
// the cause, such as a Pod that uses a volume claim; then the message also says what to do.
func (p *pass) whyBlocked(child operator.Child, later []operator.Child) error {
	text := apply.Terminating(child.Object)
	if len(later) == 0 {
		return errors.New(text)
	}
	next, one := mark.RefOf(later[0].Object).String()+" is", "it"
	if n := len(later) - 1; n > 0 {
		next, one = fmt.Sprintf("%s and %d more are", mark.RefOf(later[0].Object), n), "one of them"
	}
	text += fmt.Sprintf("; %s deleted after that: if %s uses this object, delete it by hand", next, one)
	if node := child.Owner.Node; p.op.Program.Rank(node) >= 0 {
		text += fmt.Sprintf(", and in the rule have it depend on this one (dependsOn: [%s])", node)
	}
	return errors.New(text)
}
