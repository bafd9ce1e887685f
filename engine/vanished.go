package engine

import (
	"context"
	"errors"

	"github.com/go-logr/logr"

	"kanon.dev/kanon/engine/apply/mark"
)

// The API server looks whether an object has finalizers, and deletes it then: one that is
// added in between keeps nothing. So a finalizer is certain only once it has been seen that
// the parent outlived it.

// outlived ends a pass that began to hold the parent, with the outcome that it came to.
// Where the parent is gone all the same, the children that only the rule can end go too:
// nothing else would tell of them. The answer to a write of the status shows that it is
// there; only without one is it read.
func (p *pass) confirmFinalizer(ctx context.Context, out outcome) outcome {
	if !p.finalizer.isUncertain() {
		return out
	}
	parent, readErr := p.getParent(ctx, p.op, p.key)
	if readErr != nil {
		return outcome{verdict: again, err: errors.Join(out.err, readErr)}
	}
	if parent != nil && parent.GetUID() == p.parent.GetUID() {
		return out
	}
	children, listErr := p.deleter.listTracked(ctx)
	errs := []error{out.err, listErr}
	for _, child := range children {
		logr.FromContextOrDiscard(ctx).V(1).Info("ending a child of a parent that went although it was held", "child", mark.RefOf(child.Object))
		errs = append(errs, p.deleter.end(ctx, child, p.deleter.endings().KeepsDeleted(child)))
	}
	return outcome{verdict: again, err: errors.Join(errs...)}
}
