package mark

import "k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

// Owner says for whom a child was created.
type Owner struct {
	// RuleID is the id that RuleID computed.
	RuleID string
	// Rule is the namespace/name of the rule, for people. It is empty if the mark does not name it.
	Rule string
	// Node is the id of the node in the rule.
	Node string
	// Parent is the object that the child belongs to, with its UID. If the child lost its owner reference, only the
	// UID is known.
	Parent Ref
	// Tracked is true if the child was last written without an ownerReference to the parent.
	Tracked bool
	// Retain is when the child is to be orphaned, as decided at its last write.
	Retain Retain

	// parent is the hash of Parent, if the owner was read from a mark.
	parent string
}

// IsFor reports whether the child was created for an object of this group, kind, namespace and name, whatever its
// UID.
func (o Owner) IsFor(parent Ref) bool {
	if o.parent != "" {
		return o.parent == parentHash(parent)
	}
	return o.Parent.sameObject(parent)
}

// LostParent returns the parent's LostParentHash for a child that lost its owner reference; empty if Parent names the
// parent.
func (o Owner) LostParent() string {
	if o.Parent.Name != "" {
		return ""
	}
	return o.parent
}

// LostParentHash returns a hash of a parent's group, kind, namespace and name.
func LostParentHash(parent Ref) string { return parentHash(parent) }

// Text returns the AnnotationOwner of the owner's children; empty if they have none.
func (o Owner) Text() string {
	if !o.Tracked {
		return ""
	}
	return o.Parent.String()
}

// AnnotationRetained names, on an orphan, the rule and the parent that it returns to if they render it again: the
// rule's namespace and name and the parent's, separated by slashes.
const AnnotationRetained = "kanon.dev/retained-by"

// Retain says on which occasions a child is orphaned instead of deleted.
type Retain string

// The values of Retain.
const (
	RetainNever       Retain = ""
	RetainWhenPruned  Retain = "WhenPruned"
	RetainWhenDeleted Retain = "WhenDeleted"
	RetainAlways      Retain = "Always"
)

// WhenPruned reports whether a child stays when it is no longer rendered.
func (r Retain) WhenPruned() bool { return r == RetainWhenPruned || r == RetainAlways }

// WhenDeleted reports whether a child stays when its parent is deleted.
func (r Retain) WhenDeleted() bool { return r == RetainWhenDeleted || r == RetainAlways }

// RetainWhen returns the Retain for two occasions.
func RetainWhen(pruned, deleted bool) Retain {
	switch {
	case pruned && deleted:
		return RetainAlways
	case pruned:
		return RetainWhenPruned
	case deleted:
		return RetainWhenDeleted
	default:
		return RetainNever
	}
}

// RetainedBy returns the AnnotationRetained of an orphan that o owned.
func (o Owner) RetainedBy() string {
	return o.Rule + "/" + o.Parent.Namespace + "/" + o.Parent.Name
}

// Orphaned returns the metadata changes of a child that becomes an orphan, as a merge patch (RFC 7386).
func Orphaned(live *unstructured.Unstructured, o Owner) map[string]any {
	metadata := map[string]any{
		"labels":      map[string]any{LabelRule: nil, LabelParentUID: nil},
		"annotations": map[string]any{AnnotationOwner: nil, AnnotationApplied: nil, AnnotationRetained: o.RetainedBy()},
	}
	if RefersTo(live, o.Parent.UID) {
		metadata["ownerReferences"] = WithoutReference(live, o.Parent.UID)
	}
	return metadata
}
