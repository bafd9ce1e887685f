package ending

import (
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
