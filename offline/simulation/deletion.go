package simulation

import (
	"context"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kanon.dev/kanon/engine/apply/mark"
	"kanon.dev/kanon/engine/ending"
	"kanon.dev/kanon/engine/identity"
	"kanon.dev/kanon/offline/preview"
)

// Delete deletes the objects that word names; see Select. An object with a finalizer stays until the finalizer is
// removed.
func (s *Simulation) Delete(word string) error {
	objects, err := s.Select(word)
	if err != nil {
		return err
	}
	for _, object := range objects {
		s.delete(object)
	}
	return nil
}

// delete deletes an object as the API server does.
func (s *Simulation) delete(object *unstructured.Unstructured) {
	if object.GetDeletionTimestamp() == nil {
		now := metav1.NewTime(s.now)
		object.SetDeletionTimestamp(&now)
		s.touch(object)
	}
	s.collect(object)
}

// collect removes an object that is being deleted and has no finalizer. If it is the parent, the children with an owner
// reference to it are deleted too, as the garbage collector does.
func (s *Simulation) collect(object *unstructured.Unstructured) {
	id := identity.Of(object)
	switch {
	case object.GetDeletionTimestamp() == nil || len(object.GetFinalizers()) > 0:
	case object != s.parent:
		delete(s.children, id)
		delete(s.others, id)
	default:
		for _, c := range s.sortedChildren() {
			if !c.isTracked() && !c.ended().IsDeleting() {
				s.end(c, false)
			}
		}
		s.deleted = append(s.deleted, id)
		s.parent, s.last, s.patches, s.finalized = nil, nil, nil, false
	}
}

// prune deletes the children that are no longer rendered, unless some node's children are unknown.
func (s *Simulation) prune(p *preview.Preview, rendered map[identity.ID]bool) (changed bool) {
	if !p.MayPrune() {
		return false
	}
	return s.pruneAllBut(rendered)
}

func (s *Simulation) pruneAllBut(rendered map[identity.ID]bool) (changed bool) {
	var unrendered []ending.Child
	deleting := map[string]bool{}
	for _, c := range s.sortedChildren() {
		switch {
		case rendered[identity.Of(c.Object)]:
		case c.ended().IsDeleting():
			deleting[c.Node] = true
		default:
			unrendered = append(unrendered, c.ended())
		}
	}
	for _, of := range ending.InOrder(unrendered, s.ordered, func(node string) bool { return deleting[node] }) {
		s.end(s.children[identity.Of(of.Object)], s.policies.KeepsPruned(of))
		changed = true
	}
	return changed
}

// end deletes or orphans a child.
func (s *Simulation) end(c *child, orphan bool) {
	id := identity.Of(c.Object)
	if !orphan {
		s.deleted = append(s.deleted, id)
		s.delete(c.Object)
		return
	}
	Merge(c.Object.Object, map[string]any{"metadata": mark.Orphaned(c.Object, s.owner(""))})
	dropEmpty(c.Object, "labels", "ownerReferences")
	s.touch(c.Object)
	delete(s.children, id)
	s.others[id] = c.Object
}

// dropEmpty removes empty maps and lists from the metadata, as the API server does when it stores an object.
func dropEmpty(object *unstructured.Unstructured, fields ...string) {
	metadata := mark.EnsureMap(object.Object, "metadata")
	for _, field := range fields {
		values, isMap := metadata[field].(map[string]any)
		items, isList := metadata[field].([]any)
		if (isMap || isList) && len(values)+len(items) == 0 {
			delete(metadata, field)
		}
	}
}

// cleanUp reconciles a parent that is being deleted. It reports whether anything changed.
func (s *Simulation) cleanUp(ctx context.Context) (changed bool) {
	if !s.hasFinalizer() { // the rule writes nothing any more
		changed = s.patches != nil
		s.last, s.patches = nil, nil
		return changed
	}
	if s.options.Program.Finalize != nil && !s.finalized {
		if done, changed := s.finalize(ctx); !done {
			return changed
		}
		s.finalized = true
	}
	s.patches = nil
	if awaited := ending.Awaited(s.tracked(), s.options.Program.Finalize != nil); len(awaited) > 0 {
		return s.endTracked(ctx)
	}
	s.setFinalizer(false)
	s.collect(s.parent)
	return true
}

// finalize runs spec.finalize, and reports whether that is done and whether anything changed.
func (s *Simulation) finalize(ctx context.Context) (done, changed bool) {
	p := s.evaluate(ctx)
	if p.Unmatched != "" {
		return !p.Failed(), false
	}
	rendered, changed := s.apply(p.Nodes)
	changed = s.prune(p, rendered) || changed
	done = p.Result.Finalization.Done
	if !done {
		changed = s.contribute(p.Result.Patches) || changed
	}
	s.emit(p.Result.Events)
	return done, s.writeStatus(p) || changed
}

// tracked lists the children without an owner reference, which only the rule deletes.
func (s *Simulation) tracked() []ending.Child {
	var found []ending.Child
	for _, c := range s.sortedChildren() {
		if c.isTracked() {
			found = append(found, c.ended())
		}
	}
	return found
}

// endTracked deletes or orphans the tracked children of a parent that is being deleted. If the rule finalizes, children
// on which no other depends go first.
func (s *Simulation) endTracked(ctx context.Context) (changed bool) {
	next := s.tracked()
	if s.options.Program.Finalize != nil {
		next, _ = ending.Dependents(next, s.options.Program.Rank)
	}
	policies := s.policies
	if policies.NeedEvaluation() {
		policies.Decided = s.decisions(ctx)
	}
	for _, of := range slices.DeleteFunc(next, ending.Child.IsDeleting) {
		s.end(s.children[identity.Of(of.Object)], policies.KeepsDeleted(of))
		changed = true
	}
	return changed
}

// decisions evaluates the deletionPolicies of the rendered children.
func (s *Simulation) decisions(ctx context.Context) map[identity.ID]mark.Retain {
	decided := map[identity.ID]mark.Retain{}
	for _, node := range s.preview(ctx).Nodes {
		for _, object := range node.Objects {
			decided[identity.Of(object.Unstructured)] = ending.RetainOf(object.Ending)
		}
		for _, kept := range node.Kept {
			decided[identity.Of(kept.Object)] = ending.RetainOf(kept.Ending)
		}
	}
	return decided
}
