package memory

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"kanon.dev/kanon/engine/apply/mark"
	"kanon.dev/kanon/engine/operator"
)

// tied returns copies of objects that refer to the parent by its UID: handwritten ones have none. If the parent has no
// UID, it gets the one by which they refer to it.
func tied(of *operator.Plan, parent *unstructured.Unstructured, objects []*unstructured.Unstructured) []*unstructured.Unstructured {
	self := mark.RefOf(parent)
	copies := make([]*unstructured.Unstructured, 0, len(objects))
	for _, object := range objects {
		if mark.RefOf(object) == self || object.GroupVersionKind().GroupKind() == parent.GroupVersionKind().GroupKind() && object.GetNamespace() == parent.GetNamespace() && object.GetName() == parent.GetName() {
			continue // the parent counts as it was given itself
		}
		object = object.DeepCopy()
		copies = append(copies, object)
		if parent.GetUID() == "" {
			parent.SetUID(uidOfParent(of, self, object))
		}
	}
	if parent.GetUID() == "" {
		parent.SetUID(uid(1))
	}
	for _, object := range copies {
		references := object.GetOwnerReferences()
		for i, r := range references {
			if r.UID == "" && refersTo(r, self) {
				references[i].UID = parent.GetUID()
				object.SetOwnerReferences(references)
			}
		}
	}
	return copies
}

// refersTo reports whether an owner reference names the parent, whatever its UID.
func refersTo(r metav1.OwnerReference, parent mark.Ref) bool {
	gv, err := schema.ParseGroupVersion(r.APIVersion)
	return err == nil && gv.Group == parent.Group && r.Kind == parent.Kind && r.Name == parent.Name
}

// uidOfParent returns the UID by which an object refers to the parent; empty if it does not.
func uidOfParent(of *operator.Plan, parent mark.Ref, object *unstructured.Unstructured) (found types.UID) {
	if owner, ok := mark.ReadOwner(object); ok && owner.RuleID == of.ID && owner.IsFor(parent) {
		found = owner.Parent.UID
	}
	for _, r := range object.GetOwnerReferences() {
		if refersTo(r, parent) && r.UID != "" && (parent.Namespace == "" || parent.Namespace == object.GetNamespace()) {
			found = r.UID
		}
	}
	return found
}
