package ending

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Propagation is how an object is being deleted, as far as its finalizers show. One of a foreground or an orphaning deletion is
// removed when the garbage collector has done its part, and then it looks like a background deletion.
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

// Awaited lists the children for which a parent that is being deleted waits: all, if it waits for their end, else those that
// are not being deleted yet. Nothing takes back a deletion, so a background deletion waits no longer, as in Kubernetes. It must
// not: what blocks a child can be in use by an object that the garbage collector deletes only after the parent.
func Awaited(children []Child, untilEnd bool) []Child {
	if untilEnd {
		return children
	}
	return slices.DeleteFunc(slices.Clone(children), Child.IsDeleting)
}
