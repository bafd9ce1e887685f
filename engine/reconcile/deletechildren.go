package reconcile

import (
	"context"
	"errors"
	"slices"
	"time"

	"kanon.dev/kanon/engine/apply"
	"kanon.dev/kanon/engine/apply/mark"
	"kanon.dev/kanon/engine/conditions"
	"kanon.dev/kanon/engine/ending"
)

// ended lists the children that the garbage collector does not delete with the parent; none once they are all gone, which only the
// API server knows for certain.
func (d *deleter) ended(ctx context.Context) ([]ending.Child, error) {
	if children := d.tracked(); len(children) > 0 {
		return children, nil
	}
	return d.listTracked(ctx)
}

// endAll deletes or orphans the children of a parent that is being deleted, or reports what blocks that.
func (d *deleter) endAll(ctx context.Context, children []ending.Child) (problems []conditions.Problem) {
	isLost := ending.Child.LostReference
	lost := slices.DeleteFunc(slices.Clone(children), func(child ending.Child) bool { return !isLost(child) })
	d.orphaning = d.isOrphaning(lost)
	next := children
	if d.op.Program.Finalize != nil {
		next = ending.Dependents(children, d.op.Program.Rank)
	}
	for _, child := range slices.DeleteFunc(slices.Clone(next), isLost) {
		problems = append(problems, d.endChild(ctx, child)...)
	}
	// Those that lost their reference come last: as long as there are others, they go on showing that the deletion is an
	// orphaning one.
	for _, child := range lost {
		if len(problems) == 0 {
			problems = append(problems, d.endChild(ctx, child)...)
		}
	}
	if len(lost) > 0 && len(problems) == 0 {
		d.RequeueAfter(orphanPause) // the event of a child that lost its reference names no parent
	}
	return problems
}

// orphanPause is how long a parent waits to be reconciled again after the last child was orphaned that lost its reference.
const orphanPause = 100 * time.Millisecond

// endChild deletes or orphans a child of a parent that is being deleted, or reports which finalizers block one that is being
// deleted already.
func (d *deleter) endChild(ctx context.Context, child ending.Child) []conditions.Problem {
	ref := mark.RefOf(child.Object)
	if child.IsDeleting() {
		if len(child.Object.GetFinalizers()) > 0 {
			return []conditions.Problem{{Subject: ref.String(), Reason: conditions.ReasonDeleting, Err: errors.New(apply.Terminating(child.Object))}}
		}
		return nil
	}
	if err := d.end(ctx, child, d.endings().KeepsDeleted(child)); err != nil {
		return []conditions.Problem{d.redacted(conditions.Problem{Subject: ref.String(), Reason: conditions.ReasonDelete, Err: err})}
	}
	return nil
}
