package wire

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// accessor is an Object as client-go's informers look at it: they ask for little more than its identity. It cannot be
// changed through it.
type accessor Object

// GetObjectMeta implements metav1.ObjectMetaAccessor.
func (o *Object) GetObjectMeta() metav1.Object { return (*accessor)(o) }

func (a *accessor) object() *Object     { return (*Object)(a) }
func (a *accessor) head() metav1.Object { return (*Object)(a).Head() }

// GroupVersionKind implements schema.ObjectKind.
func (a *accessor) GroupVersionKind() schema.GroupVersionKind {
	return schema.FromAPIVersionAndKind(a.object().APIVersion(), a.object().Kind())
}

func (a *accessor) GetNamespace() string       { return a.namespace }
func (a *accessor) GetName() string            { return a.name }
func (a *accessor) GetUID() types.UID          { return types.UID(a.uid) }
func (a *accessor) GetResourceVersion() string { return a.version }

func (a *accessor) GetGenerateName() string            { return a.head().GetGenerateName() }
func (a *accessor) GetGeneration() int64               { return a.head().GetGeneration() }
func (a *accessor) GetSelfLink() string                { return a.head().GetSelfLink() }
func (a *accessor) GetCreationTimestamp() metav1.Time  { return a.head().GetCreationTimestamp() }
func (a *accessor) GetDeletionTimestamp() *metav1.Time { return a.head().GetDeletionTimestamp() }
func (a *accessor) GetDeletionGracePeriodSeconds() *int64 {
	return a.head().GetDeletionGracePeriodSeconds()
}
func (a *accessor) GetLabels() map[string]string      { return a.head().GetLabels() }
func (a *accessor) GetAnnotations() map[string]string { return a.head().GetAnnotations() }
func (a *accessor) GetFinalizers() []string           { return a.head().GetFinalizers() }

func (a *accessor) GetOwnerReferences() []metav1.OwnerReference {
	return a.head().GetOwnerReferences()
}

// GetManagedFields tells nothing: their paths are text in the head.
func (a *accessor) GetManagedFields() []metav1.ManagedFieldsEntry { return nil }

const immutable = "an object of package wire cannot be changed"

func (a *accessor) SetGroupVersionKind(schema.GroupVersionKind)  { panic(immutable) }
func (a *accessor) SetNamespace(string)                          { panic(immutable) }
func (a *accessor) SetName(string)                               { panic(immutable) }
func (a *accessor) SetGenerateName(string)                       { panic(immutable) }
func (a *accessor) SetUID(types.UID)                             { panic(immutable) }
func (a *accessor) SetResourceVersion(string)                    { panic(immutable) }
func (a *accessor) SetGeneration(int64)                          { panic(immutable) }
func (a *accessor) SetSelfLink(string)                           { panic(immutable) }
func (a *accessor) SetCreationTimestamp(metav1.Time)             { panic(immutable) }
func (a *accessor) SetDeletionTimestamp(*metav1.Time)            { panic(immutable) }
func (a *accessor) SetDeletionGracePeriodSeconds(*int64)         { panic(immutable) }
func (a *accessor) SetLabels(map[string]string)                  { panic(immutable) }
func (a *accessor) SetAnnotations(map[string]string)             { panic(immutable) }
func (a *accessor) SetFinalizers([]string)                       { panic(immutable) }
func (a *accessor) SetOwnerReferences([]metav1.OwnerReference)   { panic(immutable) }
func (a *accessor) SetManagedFields([]metav1.ManagedFieldsEntry) { panic(immutable) }
