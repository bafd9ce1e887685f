package engine

import (
	"context"

	"kanon.dev/kanon/engine/apply"
	"kanon.dev/kanon/engine/conditions"
	"kanon.dev/kanon/engine/parents"
)

// finalizerOf is the rule's finalizer on a parent.
func (s *subject) finalizerOf() apply.Finalizer {
	name, manager := s.op.Finalizer()
	return apply.Finalizer{GVR: s.op.Parent.GVR, Object: s.parent, Name: name, Manager: manager}
}

// parentFinalizer puts the rule's finalizer on the parent and takes it away. A rule needs it if it has children that the garbage
// collector does not delete with the parent, or finalizes.
type parentFinalizer struct {
	*changes

	parents *parents.Store
	// needed is true if something in this reconcile needs the finalizer.
	needed bool
	// added is true once the reconcile has added the finalizer, and seen once the parent was seen after that.
	added, seen bool
}

// add sees to it that the parent has the finalizer, before anything is written that only the rule can delete. It sends no
// request if the parent has it. Only the goroutine of the reconcile calls it.
func (f *parentFinalizer) add(ctx context.Context) error {
	f.needed = true
	if f.op.HasFinalizer(f.parent) {
		return nil
	}
	defer f.begin(f.parent)()
	live, err := f.writer.AddFinalizer(ctx, f.finalizerOf(), f.op.Program.ReadsStatus())
	if err != nil {
		return err
	}
	f.added = true
	f.parents.SetFinalizer(f.key, true)
	f.observe(f.op.ParentKey, live)
	if live.GetGeneration() == f.parent.GetGeneration() {
		f.parent = live // else the conditions would be about a parent that was not evaluated
	}
	return nil
}

// remove takes the rule's finalizer from the parent, whoever added it. It deletes no children.
func (f *parentFinalizer) remove(ctx context.Context) error {
	defer f.begin(f.parent)()
	live, err := f.writer.RemoveFinalizer(ctx, f.finalizerOf())
	if err != nil {
		return err
	}
	f.parents.SetFinalizer(f.key, false)
	if live != nil {
		f.observe(f.op.ParentKey, live)
	}
	return nil
}

// isUncertain tells whether the finalizer was added and the parent not seen since: the API server may have deleted the parent in
// between, because it looks for finalizers only when the deletion begins.
func (f *parentFinalizer) isUncertain() bool { return f.added && !f.seen }

func problemOfFinalizer(err error) conditions.Problem { return conditions.OfWrite("finalizer", err) }
