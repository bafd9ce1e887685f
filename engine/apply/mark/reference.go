package mark

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// referenceTo returns the ownerReference of obj to the object with this UID, without copying it; nil if there is
// none.
func referenceTo(obj *unstructured.Unstructured, uid types.UID) map[string]any {
	metadata, _ := obj.Object["metadata"].(map[string]any)
	references, _ := metadata["ownerReferences"].([]any)
	for _, reference := range references {
		if fields, _ := reference.(map[string]any); isReferenceTo(fields, uid) {
			return fields
		}
	}
	return nil
}

// isReferenceTo reports whether an item of ownerReferences has this UID.
func isReferenceTo(reference any, uid types.UID) bool {
	fields, _ := reference.(map[string]any)
	return fields["uid"] == string(uid)
}

// refer adds the controller ownerReference to an object's metadata, unless it is nil.
func refer(metadata map[string]any, controller *metav1.OwnerReference) {
	if controller == nil {
		return
	}
	reference := map[string]any{
		"apiVersion": controller.APIVersion, "kind": controller.Kind, "name": controller.Name, "uid": string(controller.UID),
	}
	for name, value := range map[string]*bool{"controller": controller.Controller, "blockOwnerDeletion": controller.BlockOwnerDeletion} {
		if value != nil {
			reference[name] = *value
		}
	}
	rendered, _ := metadata["ownerReferences"].([]any)
	others := slices.DeleteFunc(slices.Clone(rendered), func(other any) bool { return isReferenceTo(other, controller.UID) })
	metadata["ownerReferences"] = append(others, any(reference))
}

// WithoutReference returns the ownerReferences of obj except for the one to the object with this UID.
func WithoutReference(obj *unstructured.Unstructured, uid types.UID) []any {
	references, _, _ := unstructured.NestedSlice(obj.Object, "metadata", "ownerReferences")
	return slices.DeleteFunc(references, func(reference any) bool { return isReferenceTo(reference, uid) })
}

// RefersTo reports whether obj has an ownerReference to the object with this UID.
func RefersTo(obj *unstructured.Unstructured, uid types.UID) bool {
	return slices.ContainsFunc(obj.GetOwnerReferences(), func(have metav1.OwnerReference) bool { return have.UID == uid })
}
