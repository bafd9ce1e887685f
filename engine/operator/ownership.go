package operator

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kanon.dev/kanon/engine/apply/mark"
	"kanon.dev/kanon/rules/program"
)

// Owner returns what the mark of a node's children says about their owner.
func (p *Plan) Owner(parent *unstructured.Unstructured, node string) mark.Owner {
	return mark.Owner{
		RuleID: p.ID, Rule: p.Name.String(), Node: node,
		Parent: mark.Ref{
			Group: p.Parent.GVK.Group, Kind: p.Parent.GVK.Kind,
			Namespace: parent.GetNamespace(), Name: parent.GetName(), UID: parent.GetUID(),
		},
	}
}

// ControllerRef returns the owner reference of a child to its parent.
func (p *Plan) ControllerRef(parent *unstructured.Unstructured) *metav1.OwnerReference {
	return metav1.NewControllerRef(parent, p.Parent.GVK)
}

// StatusManagers is the prefix of the field managers of rules' statuses.
const StatusManagers = "kanon-status-"

// IsStatusManager reports whether a field manager is that of a rule's status.
func IsStatusManager(manager string) bool { return strings.HasPrefix(manager, StatusManagers) }

// StatusManager is the field manager of what the rule writes to a status.
func (p *Plan) StatusManager() string { return StatusManagers + p.ID }

// Children belong to their parent in one of two ways. If Kubernetes allows it, they have a controller owner reference,
// and the garbage collector deletes them after the parent. All others are tracked by their labels and mark, and a
// finalizer of the rule keeps the parent until they are deleted.

// finalizerManagers is the prefix of the field manager of that finalizer.
const finalizerManagers = "kanon-finalizer-"

// Finalizer returns the name of the rule's finalizer on its parents, and its field manager.
func (p *Plan) Finalizer() (name, manager string) {
	return mark.Finalizer(p.ID), finalizerManagers + p.ID
}

// HasFinalizer reports whether a parent has the rule's finalizer.
func (p *Plan) HasFinalizer(parent *unstructured.Unstructured) bool {
	return slices.Contains(parent.GetFinalizers(), mark.Finalizer(p.ID))
}

// MayNeedFinalizer reports whether the rule may need the finalizer.
func (p *Plan) MayNeedFinalizer() bool {
	return p.Program.Finalize != nil || slices.ContainsFunc(p.Program.Children, func(child *program.Child) bool {
		kind, exists := p.Children[child.GVK]
		outside := p.Parent.Namespaced && (child.Elsewhere || !kind.Namespaced)
		return exists && (outside || Policies{ByNode: p.Deletions}.MayKeep(child.ID))
	})
}

// HasKind reports whether the rule's children of a kind are watched, in any version.
func (p *Plan) HasKind(kind schema.GroupKind) bool {
	for of := range p.ChildKinds() {
		if of.GVK.GroupKind() == kind {
			return true
		}
	}
	return false
}
