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
