package engine

import (
	"k8s.io/apimachinery/pkg/types"

	"kanon.dev/kanon/engine/apply/mark"
	"kanon.dev/kanon/engine/monitor"
	"kanon.dev/kanon/engine/queue"
	"kanon.dev/kanon/wire"
)

// indexParent is the name of the index of children by rule and parent.
const indexParent = "parent"

// lostParent begins the tag of a child that lost the owner reference to its parent. Its mark does not name the parent, so its
// rule and a hash of the parent follow.
const lostParent = "?"

// tagOf says of a child to which rule and parent it belongs, as the text of their key. An object that has the label of children
// and whose mark proves nothing is not in view: labels are copied, and anybody may set them.
func (e *Engine) tagOf(key monitor.Key, obj *wire.Object) (tag string, inView bool) {
	if key.Selector != mark.LabelRule {
		return "", true // these are no children
	}
	owner, ok := e.marks.OwnerOf(obj.Head())
	if !ok {
		return "", false
	}
	if lost := owner.LostParent(); lost != "" {
		return lostParent + owner.RuleID + lost, true
	}
	parent := types.NamespacedName{Namespace: owner.Parent.Namespace, Name: owner.Parent.Name}
	return queue.Key{Rule: owner.RuleID, Parent: parent}.String(), true
}

// keyOfTag is the key in a child's tag; false where the child lost its owner reference.
func keyOfTag(obj *wire.Object) (queue.Key, bool) { return queue.ParseKey(obj.Tag()) }

// ruleOfTag is the id of the rule that made a child.
func ruleOfTag(obj *wire.Object) string {
	if k, ok := keyOfTag(obj); ok {
		return k.Rule
	}
	if tag := obj.Tag(); len(tag) > ruleIDSize {
		return tag[len(lostParent) : len(lostParent)+ruleIDSize]
	}
	return ""
}

// ruleIDSize is how many characters the id of a rule has, see mark.RuleID.
const ruleIDSize = 16

// tagsOf are the tags of the children of a rule and a parent.
func (op *operator) tagsOf(k queue.Key) []string {
	lost := mark.LostParentHash(mark.Ref{
		Group: op.parent.GVK.Group, Kind: op.parent.GVK.Kind, Namespace: k.Parent.Namespace, Name: k.Parent.Name,
	})
	return []string{k.String(), lostParent + op.id + lost}
}

// indexByParent puts a child under the rule and the parent that it belongs to.
func indexByParent(item any) ([]string, error) {
	if obj, ok := item.(*wire.Object); ok && obj.Tag() != "" {
		return []string{obj.Tag()}, nil
	}
	return nil, nil
}
