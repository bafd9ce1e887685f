package operator

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kanon.dev/kanon/engine/apply/mark"
	"kanon.dev/kanon/rules/program"
)

// Child is an object that a rule created for a parent.
type Child struct {
	GVR schema.GroupVersionResource
	// Object has apiVersion, kind and metadata at least.
	Object *unstructured.Unstructured
	// Owner is the owner that its mark names; zero if the mark proves nothing.
	Owner    mark.Owner
	IsMarked bool
}

// IsDeleting reports whether the child is already being deleted.
func (c Child) IsDeleting() bool { return c.Object.GetDeletionTimestamp() != nil }

// LostReference reports whether a child that has no owner reference was created with one.
func (c Child) LostReference() bool { return c.IsMarked && !c.Owner.Tracked }

// CanOwn reports whether a child can have an owner reference to its parent. The garbage collector would delete a child
// in another namespace, or in none, at once. With spec.finalize, a foreground deletion would delete a child before the
// cleanup.
func CanOwn(of *program.Program, parent, child *unstructured.Unstructured) bool {
	return of.Finalize == nil && (parent.GetNamespace() == "" || child.GetNamespace() == parent.GetNamespace())
}

// Awaited lists the children for which a parent that is being deleted waits: all of them if it waits until they are
// gone, else those that are not being deleted yet. A deletion cannot be undone, so a background deletion waits no
// longer, as in Kubernetes. It must not: an object that the garbage collector deletes only after the parent may block a
// child that it uses.
func Awaited(children []Child, untilEnd bool) []Child {
	if untilEnd {
		return children
	}
	return slices.DeleteFunc(slices.Clone(children), Child.IsDeleting)
}

// Propagation returns how an object is being deleted, as far as its finalizers show. The finalizer of a foreground or
// orphaning deletion is removed when the garbage collector has done its part; then the deletion looks like one in the
// background.
func Propagation(object *unstructured.Unstructured) metav1.DeletionPropagation {
	switch finalizers := object.GetFinalizers(); {
	case slices.Contains(finalizers, metav1.FinalizerOrphanDependents):
		return metav1.DeletePropagationOrphan
	case slices.Contains(finalizers, metav1.FinalizerDeleteDependents):
		return metav1.DeletePropagationForeground
	default:
		return metav1.DeletePropagationBackground
	}
}
