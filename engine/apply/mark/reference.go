package mark

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// referenceTo is the ownerReference of obj to the object with that UID, as it stands there; nil where there is none.
func referenceTo(obj *unstructured.Unstructured, uid types.UID) map[string]any {
	metadata, _ := obj.Object["metadata"].(map[string]any)
	references, _ := metadata["ownerReferences"].([]any)
	for _, reference := range references {
		if fields, ok := reference.(map[string]any); ok && fields["uid"] == string(uid) {
			return fields
		}
	}
	return nil
}

// refer adds the controller ownerReference to an object's metadata, unless that is nil.
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
	references := make([]any, 0, len(rendered)+1)
	for _, other := range rendered {
		if m, ok := other.(map[string]any); !ok || m["uid"] != string(controller.UID) {
			references = append(references, other)
		}
	}
	metadata["ownerReferences"] = append(references, any(reference))
}

// WithoutReference is the ownerReferences of obj without the one to the object with that UID.
func WithoutReference(obj *unstructured.Unstructured, uid types.UID) []any {
	references, _, _ := unstructured.NestedSlice(obj.Object, "metadata", "ownerReferences")
	return slices.DeleteFunc(references, func(reference any) bool {
		fields, ok := reference.(map[string]any)
		return ok && fields["uid"] == string(uid)
	})
}

// RefersTo reports whether obj has an ownerReference to the object with that UID.
func RefersTo(obj *unstructured.Unstructured, uid types.UID) bool {
	return slices.ContainsFunc(obj.GetOwnerReferences(), func(have metav1.OwnerReference) bool { return have.UID == uid })
}
