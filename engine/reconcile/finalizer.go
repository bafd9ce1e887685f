package reconcile

import (
	"context"
	"errors"

	"github.com/go-logr/logr"

	"kanon.dev/kanon/engine/apply"
	"kanon.dev/kanon/engine/apply/mark"
	"kanon.dev/kanon/engine/conditions"
	"kanon.dev/kanon/engine/outcome"
)

// finalizerOf returns the rule's finalizer for the parent.
func (s *subject) finalizerOf() apply.Finalizer {
	name, manager := s.op.Finalizer()
	return apply.Finalizer{GVR: s.op.Parent.GVR, Object: s.parent, Name: name, Manager: manager}
}

// parentFinalizer adds the rule's finalizer to the parent and removes it. A rule needs it if it has spec.finalize, or
// children that the garbage collector does not delete with the parent.
type parentFinalizer struct {
	*changes

	// needed is true if something in this reconcile needs the finalizer.
	needed bool
	// added is true once the reconcile has added the finalizer, and seen once an answer after that has shown the
	// parent.
	added, seen bool
}

// add ensures that the parent has the finalizer, before anything is written that only the rule can delete. It sends no
// request if the parent has it. Only the goroutine of the reconcile calls it.
func (f *parentFinalizer) add(ctx context.Context) error {
	f.needed = true
	if f.op.HasFinalizer(f.parent) {
		return nil
	}
	defer f.Begin(f.parent)()
	live, err := f.Writer.AddFinalizer(ctx, f.finalizerOf(), f.op.Program.ReadsStatus)
	if err != nil {
		return err
	}
	f.added = true
	f.Parents.SetFinalizer(f.key, true)
	f.Observe(f.op.ParentKey, live)
	if live.GetGeneration() == f.parent.GetGeneration() {
		f.parent = live // otherwise the conditions would be about a parent that was not evaluated
	}
	return nil
}

// remove removes the rule's finalizer from the parent, whoever added it. It deletes no children.
func (f *parentFinalizer) remove(ctx context.Context) error {
	defer f.Begin(f.parent)()
	live, err := f.Writer.RemoveFinalizer(ctx, f.finalizerOf())
	if err != nil {
		return err
	}
	f.Parents.SetFinalizer(f.key, false)
	if live != nil {
		f.Observe(f.op.ParentKey, live)
	}
	return nil
}

// isUncertain reports whether the finalizer was added and the parent has not been seen since. The API server may have
// deleted the parent in between, because it checks for finalizers only when the deletion begins.
func (f *parentFinalizer) isUncertain() bool { return f.added && !f.seen }

// problemsOfFinalizer returns the problem that the finalizer could not be written; none if err is nil.
func problemsOfFinalizer(err error) []conditions.Problem {
	if err == nil {
		return nil
	}
	return []conditions.Problem{conditions.OfWrite("finalizer", err)}
}

// addToFinalize adds the finalizer if the rule has spec.finalize, even if the parent has no children.
func (f *parentFinalizer) addToFinalize(ctx context.Context) []conditions.Problem {
	if f.op.Program.Finalize == nil {
		return nil
	}
	return problemsOfFinalizer(f.add(ctx))
}

// removeFinalizerIfUnneeded removes the finalizer if nothing needs it. It runs after all writes and deletions.
func (p *pass) removeFinalizerIfUnneeded(ctx context.Context) []conditions.Problem {
	if p.finalizer.needed || !p.op.HasFinalizer(p.parent) || len(p.problems) > 0 || p.deleter.isBlocked() || p.isSuspended() {
		return nil
	}
	var err error
	if !p.op.Removal.KeepsChildren() {
		err = p.deleter.checkEnded(ctx)
	}
	if err == nil {
		err = p.finalizer.remove(ctx)
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
func (p *pass) confirmFinalizer(ctx context.Context, out outcome.Outcome) outcome.Outcome {
	if !p.finalizer.isUncertain() {
		return out
	}
	parent, readErr := p.getParent(ctx, p.op, p.key)
	if readErr != nil {
		return outcome.Outcome{Verdict: outcome.Again, Err: errors.Join(out.Err, readErr)}
	}
	if parent != nil && parent.GetUID() == p.parent.GetUID() {
		return out
	}
	children, listErr := p.deleter.listTracked(ctx)
	errs := []error{out.Err, listErr}
	for _, child := range children {
		logr.FromContextOrDiscard(ctx).V(1).Info("Deleting a child of a parent that was deleted although it had the finalizer", "child", mark.RefOf(child.Object))
		errs = append(errs, p.redacted(p.deleter.end(ctx, child, p.deleter.endings().KeepsDeleted(child))))
	}
	return outcome.Outcome{Verdict: outcome.Again, Err: errors.Join(errs...)}
}
