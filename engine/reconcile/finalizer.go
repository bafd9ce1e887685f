package reconcile

import (
	"context"
	"errors"

	"github.com/go-logr/logr"

	"kanon.dev/kanon/engine/apply"
	"kanon.dev/kanon/engine/apply/mark"
	"kanon.dev/kanon/engine/conditions"
	"kanon.dev/kanon/engine/queue"
)

// finalizerOf returns the rule's finalizer for the parent.
func (p *pass) finalizerOf() apply.Finalizer {
	name, manager := p.op.Finalizer()
	return apply.Finalizer{GVR: p.op.Parent.GVR, Object: p.parent, Name: name, Manager: manager}
}

// addFinalizer ensures that the parent has the rule's finalizer, before anything is written that only the rule can
// delete. A rule needs it if it has spec.finalize, or children that the garbage collector does not delete with the
// parent. It sends no request if the parent has it. Only the goroutine of the reconcile calls it.
func (p *pass) addFinalizer(ctx context.Context) error {
	p.finalizerNeeded = true
	if p.op.HasFinalizer(p.parent) {
		return nil
	}
	defer p.beginWrite(p.parent)()
	live, err := p.r.Writer.AddFinalizer(ctx, p.finalizerOf(), p.op.Program.ReadsStatus)
	if err != nil {
		return err
	}
	p.finalizerAdded = true
	p.r.Parents.SetFinalizer(p.key, true)
	p.observe(p.op.ParentKey, live)
	if live.GetGeneration() == p.parent.GetGeneration() {
		p.parent = live // otherwise the conditions would be about a parent that was not evaluated
	}
	return nil
}

// removeFinalizer removes the rule's finalizer from the parent, whoever added it. It deletes no children.
func (p *pass) removeFinalizer(ctx context.Context) error {
	defer p.beginWrite(p.parent)()
	live, err := p.r.Writer.RemoveFinalizer(ctx, p.finalizerOf())
	if err != nil {
		return err
	}
	p.r.Parents.SetFinalizer(p.key, false)
	if live != nil {
		p.observe(p.op.ParentKey, live)
	}
	return nil
}

// isUncertain reports whether the finalizer was added and the parent has not been seen since. The API server may have
// deleted the parent in between, because it checks for finalizers only when the deletion begins.
func (p *pass) isUncertain() bool { return p.finalizerAdded && !p.parentSeen }

// problemsOfFinalizer returns the problem that the finalizer could not be written; none if err is nil.
func problemsOfFinalizer(err error) []conditions.Problem {
	if err == nil {
		return nil
	}
	return []conditions.Problem{conditions.OfWrite("finalizer", err)}
}

// addToFinalize adds the finalizer if the rule has spec.finalize, even if the parent has no children.
func (p *pass) addToFinalize(ctx context.Context) []conditions.Problem {
	if p.op.Program.Finalize == nil {
		return nil
	}
	return problemsOfFinalizer(p.addFinalizer(ctx))
}

// removeFinalizerIfUnneeded removes the finalizer if nothing needs it. It runs after all writes and deletions.
func (p *pass) removeFinalizerIfUnneeded(ctx context.Context) []conditions.Problem {
	if p.finalizerNeeded || !p.op.HasFinalizer(p.parent) || len(p.problems) > 0 || p.isBlocked() || p.isSuspended() {
		return nil
	}
	var err error
	if !p.op.Removal.KeepsChildren() {
		err = p.checkEnded(ctx)
	}
	if err == nil {
		err = p.removeFinalizer(ctx)
	}
	if errors.Is(err, errNotEnded) && p.op.Removal == nil {
		return nil
	}
	return problemsOfFinalizer(err)
}

// confirmFinalizer ends a reconcile that added the finalizer, and returns its outcome. The API server checks for
// finalizers and then deletes the object: a finalizer that is added in between has no effect. So the parent must be
// seen once more. The answer to a write of its status shows it; without one, it is read. If the parent is gone,
// confirmFinalizer deletes the children that the garbage collector does not delete, since no event would name them.
func (p *pass) confirmFinalizer(ctx context.Context, out queue.Outcome) queue.Outcome {
	if !p.isUncertain() {
		return out
	}
	parent, readErr := p.r.getParent(ctx, p.op, p.key)
	if readErr != nil {
		return queue.Outcome{Verdict: queue.Again, Err: errors.Join(out.Err, readErr)}
	}
	if parent != nil && parent.GetUID() == p.parent.GetUID() {
		return out
	}
	children, listErr := p.listTracked(ctx)
	errs := []error{out.Err, listErr}
	for _, child := range children {
		logr.FromContextOrDiscard(ctx).V(1).Info("Deleting a child of a parent that was deleted although it had the finalizer", "child", mark.RefOf(child.Object))
		errs = append(errs, p.redacted(p.end(ctx, child, p.endings().KeepsDeleted(child))))
	}
	return queue.Outcome{Verdict: queue.Again, Err: errors.Join(errs...)}
}
