package simulation

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"kanon.dev/kanon/engine/apply/mark"
	"kanon.dev/kanon/engine/ending"
	"kanon.dev/kanon/engine/keyring"
)

// namespace is Kanon's own namespace in a simulation, and that of rules without one.
const namespace = "kanon-system"

// newMarks makes the marks of children. Their key is the same in each simulation, as there is nobody to keep it secret
// from.
func newMarks(o Options) (*mark.Marks, error) {
	secret := sha256.Sum256([]byte("simulation"))
	ring, err := keyring.Of(o.Now, secret[:])
	if err != nil {
		return nil, fmt.Errorf("make a key for marks: %w", err)
	}
	return mark.NewMarks(func() *keyring.Keyring { return ring }), nil
}

// owner is the owner that the marks of a node's children name.
func (s *Simulation) owner(node string) mark.Owner {
	rule := types.NamespacedName{Namespace: cmp.Or(s.options.Program.Namespace, namespace), Name: s.options.Program.Name}
	return mark.Owner{
		RuleID: mark.RuleID(namespace, rule.Namespace, rule.Name), Rule: rule.String(), Node: node, Parent: s.parentRef(),
	}
}

func (s *Simulation) parentRef() mark.Ref {
	if s.parent == nil {
		return mark.Ref{}
	}
	return mark.RefOf(s.parent)
}

// mark adds to a child's metadata what the engine adds: the mark, and the owner reference where one is possible.
func (s *Simulation) mark(c *child, object *unstructured.Unstructured) {
	owner := s.owner(c.Node)
	owner.Retain = ending.RetainOf(c.ending)
	var controller *metav1.OwnerReference
	if ending.CanOwn(s.options.Program, s.parent, object) && !s.policies.MayKeep(c.Node) {
		controller = metav1.NewControllerRef(s.parent, s.options.Program.Parent.GVK)
	} else {
		owner.Tracked = true
	}
	text := s.marks.Add(object, owner, controller).String()
	annotations := mark.EnsureMap(mark.EnsureMap(object.Object, "metadata"), "annotations")
	annotations[mark.AnnotationApplied] = text
	delete(annotations, mark.AnnotationRetained)
}

// isTracked reports whether a child has no owner reference, so that only the rule deletes it.
func (c *child) isTracked() bool { return !mark.RefersTo(c.Object, c.ended().Owner.Parent.UID) }

// ended is the child in the form that engine/ending takes.
func (c *child) ended() ending.Child {
	owner, marked := mark.ReadOwner(c.Object)
	return ending.Child{Object: c.Object, Owner: owner, IsMarked: marked}
}

// finalizer is the name of the rule's finalizer.
func (s *Simulation) finalizer() string { return mark.Finalizer(s.owner("").RuleID) }

func (s *Simulation) hasFinalizer() bool {
	return slices.Contains(s.parent.GetFinalizers(), s.finalizer())
}

// finalizeIfNeeded adds the rule's finalizer to the parent if the rule finalizes or has tracked children, and removes
// it otherwise. It reports whether that changed anything.
func (s *Simulation) finalizeIfNeeded() (changed bool) {
	return s.setFinalizer(s.options.Program.Finalize != nil || slices.ContainsFunc(s.sortedChildren(), (*child).isTracked))
}

func (s *Simulation) setFinalizer(want bool) (changed bool) {
	if s.hasFinalizer() == want {
		return false
	}
	finalizers := slices.DeleteFunc(s.parent.GetFinalizers(), func(f string) bool { return f == s.finalizer() })
	if want {
		finalizers = append(finalizers, s.finalizer())
	}
	s.parent.SetFinalizers(finalizers)
	s.touch(s.parent)
	return true
}
