package simulation

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kanon.dev/kanon/engine/identity"
	"kanon.dev/kanon/preview"
	"kanon.dev/kanon/rules/syntax"
)

// Delete deletes the objects that a word names; see Select. A parent with a finalizer is being deleted until that is done.
func (s *Simulation) Delete(word string) error {
	objects, err := s.Select(word)
	if err != nil {
		return err
	}
	for _, object := range objects {
		if object == s.parent {
			s.markDeleted(object)
			continue
		}
		id := identity.Of(object)
		delete(s.children, id)
		delete(s.others, id)
	}
	return nil
}

// markDeleted has an object be deleted from now on.
func (s *Simulation) markDeleted(object *unstructured.Unstructured) {
	if object.GetDeletionTimestamp() == nil {
		now := metav1.NewTime(s.now)
		object.SetDeletionTimestamp(&now)
	}
}

// prune deletes the children that are no longer rendered, unless it is not known of every node what it renders.
func (s *Simulation) prune(p *preview.Preview, rendered map[identity.ID]bool) (changed bool) {
	if !p.MayPrune() {
		return false
	}
	for _, c := range s.sortedChildren() {
		if !rendered[identity.Of(c.Object)] {
			s.end(c, c.ending.WhenPruned == syntax.EndOrphan)
			changed = true
		}
	}
	return changed
}

// end deletes a child, or leaves it behind.
func (s *Simulation) end(c *child, orphan bool) {
	id := identity.Of(c.Object)
	delete(s.children, id)
	if orphan {
		s.others[id] = c.Object
		return
	}
	s.deleted = append(s.deleted, id)
}

// deleteParent ends what the rule created, and the parent with it.
func (s *Simulation) deleteParent() {
	for _, c := range s.sortedChildren() {
		s.end(c, c.ending.WhenDeleted == syntax.EndOrphan)
	}
	s.deleted = append(s.deleted, identity.Of(s.parent))
	s.parent, s.last, s.patches = nil, nil, nil
}
