package mark

import "k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

// Owner says for whom a child was made.
type Owner struct {
	// RuleID is the id that RuleID computed.
	RuleID string `json:"id"`
	// Rule is namespace/name of the rule. It is for people, and empty where the mark does not say it.
	Rule string `json:"rule"`
	// Node is the id of the node in the rule.
	Node string `json:"node"`
	// Parent is the object that the child belongs to, with its UID. Of a child that lost the owner reference that it had,
	// nothing but the UID is known.
	Parent Ref `json:"parent"`
	// Tracked is true where the child carries no ownerReference to the parent, and was not meant to when it was written last.
	Tracked bool `json:"tracked,omitempty"`
	// Retain says when the child is to be orphaned, as was decided when it was written last.
	Retain Retain `json:"retain,omitempty"`

	// parent is the hash of Parent, where the mark is what it was read from.
	parent string
}

// IsFor reports whether the child was made for an object of that group, kind, namespace and name, whatever its UID.
func (o Owner) IsFor(parent Ref) bool {
	if o.parent != "" {
		return o.parent == parentHash(parent)
	}
	return o.Parent.sameObject(parent)
}

// LostParent identifies, of a child that lost its owner reference, its parent's group, kind, namespace and name by a hash;
// empty where Parent says them. It is as LostParentHash has it.
func (o Owner) LostParent() string {
	if o.Parent.Name != "" {
		return ""
	}
	return o.parent
}

// LostParentHash is what LostParent is of the children of a parent.
func LostParentHash(parent Ref) string { return parentHash(parent) }

// Text is AnnotationOwner of the owner's children; empty where they have none.
func (o Owner) Text() string {
	if !o.Tracked {
		return ""
	}
	return o.Parent.String()
}

// AnnotationRetained names, on an orphan, the rule and the parent that it returns to when they want it
// again: the rule's namespace and name and the parent's, with slashes between them.
const AnnotationRetained = "kanon.dev/retained-by"

// Retain says on which occasions a child is orphaned instead of being deleted.
type Retain string

// The values of Retain.
const (
	RetainNever       Retain = ""
	RetainWhenPruned  Retain = "WhenPruned"
	RetainWhenDeleted Retain = "WhenDeleted"
	RetainAlways      Retain = "Always"
)

// WhenPruned reports whether a child stays that is rendered no more.
func (r Retain) WhenPruned() bool { return r == RetainWhenPruned || r == RetainAlways }

// WhenDeleted reports whether a child stays whose parent is deleted.
func (r Retain) WhenDeleted() bool { return r == RetainWhenDeleted || r == RetainAlways }

// RetainWhen is the Retain of both occasions.
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

// RetainedBy is what the annotation says of one that was o's.
func (o Owner) RetainedBy() string {
	return o.Rule + "/" + o.Parent.Namespace + "/" + o.Parent.Name
}

// Orphaned is what changes in the metadata of a child that becomes an orphan, as a merge patch (RFC 7386).
func Orphaned(live *unstructured.Unstructured, o Owner) map[string]any {
	metadata := map[string]any{
		"labels":      map[string]any{LabelRule: nil, LabelParentUID: nil, LabelNode: nil},
		"annotations": map[string]any{AnnotationOwner: nil, AnnotationApplied: nil, AnnotationRetained: o.RetainedBy()},
	}
	if RefersTo(live, o.Parent.UID) {
		metadata["ownerReferences"] = WithoutReference(live, o.Parent.UID)
	}
	return metadata
}
