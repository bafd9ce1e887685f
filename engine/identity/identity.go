package identity

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"kanon.dev/kanon/wire"
)

// ID names an object. It has no version: one object can be read as several apiVersions.
type ID struct {
	schema.GroupKind
	types.NamespacedName
}

// Of is the ID of an object.
func Of(obj *unstructured.Unstructured) ID {
	return ID{
		GroupKind:      obj.GroupVersionKind().GroupKind(),
		NamespacedName: types.NamespacedName{Namespace: obj.GetNamespace(), Name: obj.GetName()},
	}
}

// String is the ID as messages have it: Deployment.apps team-a/web, or Namespace team-a.
func (id ID) String() string {
	if id.Namespace == "" {
		return id.GroupKind.String() + " " + id.Name
	}
	return id.GroupKind.String() + " " + id.NamespacedName.String()
}

// At is the ID of an object of an informer, which it does not decode.
func At(obj *wire.Object) ID {
	return ID{
		GroupKind:      schema.FromAPIVersionAndKind(obj.APIVersion(), obj.Kind()).GroupKind(),
		NamespacedName: types.NamespacedName{Namespace: obj.Namespace(), Name: obj.Name()},
	}
}
