package identity

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"kanon.dev/kanon/engine/watch"
)

// ID names an object. It has no version: one object can be read as several apiVersions.
type ID struct {
	schema.GroupKind
	types.NamespacedName
}

// Of returns the ID of an object.
func Of(obj *unstructured.Unstructured) ID {
	return ID{
		GroupKind:      obj.GroupVersionKind().GroupKind(),
		NamespacedName: types.NamespacedName{Namespace: obj.GetNamespace(), Name: obj.GetName()},
	}
}

// String returns the ID as messages show it: Deployment.apps team-a/web, or Namespace team-a.
func (id ID) String() string {
	if id.Namespace == "" {
		return id.GroupKind.String() + " " + id.Name
	}
	return id.GroupKind.String() + " " + id.NamespacedName.String()
}

// At returns the ID of an object of an informer, without decoding it.
func At(obj *watch.Object) ID {
	return ID{
		GroupKind:      schema.FromAPIVersionAndKind(obj.APIVersion(), obj.Kind()).GroupKind(),
		NamespacedName: types.NamespacedName{Namespace: obj.Namespace(), Name: obj.Name()},
	}
}

// Field names a field of an object, and who owns it.
type Field struct {
	// Path has the form of managedFields, such as .status.url; for a child, that of a rule's ignore.
	Path string
	// Manager owns the field; empty if nobody does, for example because somebody removed it.
	Manager string
}
