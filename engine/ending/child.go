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
	// Owner is what its mark says; zero if the mark proves nothing.
	Owner    mark.Owner
	IsMarked bool
}

// IsDeleting tells whether the child is being deleted already.
func (c Child) IsDeleting() bool { return c.Object.GetDeletionTimestamp() != nil }

// LostReference tells whether the child was created with an owner reference. Called for a child that has none.
func (c Child) LostReference() bool { return c.IsMarked && !c.Owner.Tracked }

// CanOwn tells whether a child can carry an owner reference to its parent: one in
// another namespace, or in none, would be taken for garbage at once, and one of a rule that
// finalizes by a foreground deletion before the rule has its say.
func CanOwn(of *program.Program, parent, child *unstructured.Unstructured) bool {
	return of.Finalize == nil && (parent.GetNamespace() == "" || child.GetNamespace() == parent.GetNamespace())
}
