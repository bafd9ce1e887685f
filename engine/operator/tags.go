package operator

import (
	"k8s.io/apimachinery/pkg/types"

	"kanon.dev/kanon/engine/apply/mark"
	"kanon.dev/kanon/engine/queue"
	"kanon.dev/kanon/engine/watch"
)

// IndexParent is the name of the index of children by rule and parent.
const IndexParent = "parent"

// lostParent is the prefix of the tag of a child that lost the owner reference to its parent. The mark of such a child
// does not name the parent, so its rule and a hash of the parent follow.
const lostParent = "?"

// Tag returns the rule and parent of a child, by its mark, as the text of their key.
func Tag(owner mark.Owner) string {
	if lost := owner.LostParent(); lost != "" {
		return lostParent + owner.RuleID + lost
	}
	parent := types.NamespacedName{Namespace: owner.Parent.Namespace, Name: owner.Parent.Name}
	return queue.Key{Rule: owner.RuleID, Parent: parent}.String()
}

// RuleOfTag returns the id of the rule that created a child.
func RuleOfTag(obj *watch.Object) string {
	if k, ok := queue.ParseKey(obj.Tag()); ok {
		return k.Rule
	}
	if tag := obj.Tag(); len(tag) > ruleIDSize {
		return tag[len(lostParent) : len(lostParent)+ruleIDSize]
	}
	return ""
}

// ruleIDSize is the length of a rule's id, see mark.RuleID.
const ruleIDSize = 16

// TagsOf returns the tags of the children of a rule and a parent.
func (p *Plan) TagsOf(k queue.Key) []string {
	lost := mark.LostParentHash(mark.Ref{
		Group: p.Parent.GVK.Group, Kind: p.Parent.GVK.Kind, Namespace: k.Parent.Namespace, Name: k.Parent.Name,
	})
	return []string{k.String(), lostParent + p.ID + lost}
}

// IndexByParent indexes a child by its rule and parent.
func IndexByParent(item any) ([]string, error) {
	if obj, ok := item.(*watch.Object); ok && obj.Tag() != "" {
		return []string{obj.Tag()}, nil
	}
	return nil, nil
}
