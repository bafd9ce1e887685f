package engine

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"kanon.dev/kanon/engine/apply"
	"kanon.dev/kanon/engine/monitor"
	"kanon.dev/kanon/engine/queue"
	"kanon.dev/kanon/wire"
)

// indexParent is the name of the index of children by rule and parent.
const indexParent = "parent"

// unclaimed ends the tag of a child that does not say itself whose it is.
const unclaimed = "/"

// tagOf says of a child to which rule and parent it belongs, as the text of their key: by its owner
// annotation, or where somebody removed that, by its label and its controller.
func tagOf(key monitor.Key, obj *wire.Object) string {
	if key.Selector != apply.LabelRule {
		return "" // these are no children
	}
	if k, ok := keyOfOwner(obj.Head()); ok {
		return k.String()
	}
	if k, ok := keyOfController(obj.Head()); ok {
		return k.String() + unclaimed
	}
	return ""
}

// keyOfTag is the key in a child's tag.
func keyOfTag(obj *wire.Object) (queue.Key, bool) {
	return queue.ParseKey(strings.TrimSuffix(obj.Tag(), unclaimed))
}

// claims tells whether a child says itself whose it is: a label may be a copy.
func claims(obj *wire.Object) bool {
	return obj.Tag() != "" && !strings.HasSuffix(obj.Tag(), unclaimed)
}

// indexByParent puts a child under the rule and the parent that it belongs to.
func indexByParent(item any) ([]string, error) {
	if obj, ok := item.(*wire.Object); ok && obj.Tag() != "" {
		return []string{strings.TrimSuffix(obj.Tag(), unclaimed)}, nil
	}
	return nil, nil
}

// keyOfOwner is the rule and the parent that a child says it belongs to. The key is a part
// of the child's text, and is not to outlive it.
func keyOfOwner(child *unstructured.Unstructured) (queue.Key, bool) {
	owner, ok := apply.OwnerOf(child)
	parent := types.NamespacedName{Namespace: owner.Parent.Namespace, Name: owner.Parent.Name}
	return queue.Key{Rule: owner.RuleID, Parent: parent}, ok
}

// keyOfController is the rule and the parent to which a child likely belongs, by its label and its
// controller. That proves nothing; a key that is woken in error finds nothing to do.
func keyOfController(child *unstructured.Unstructured) (queue.Key, bool) {
	rule := child.GetLabels()[apply.LabelRule]
	controller := metav1.GetControllerOfNoCopy(child)
	if rule == "" || controller == nil {
		return queue.Key{}, false
	}
	// The parent of a child in a namespace lives there too, or is cluster-scoped.
	// Which it is cannot be told from here; a cluster-scoped parent is woken by
	// the state of the child before the annotation went.
	parent := types.NamespacedName{Namespace: child.GetNamespace(), Name: controller.Name}
	return queue.Key{Rule: rule, Parent: parent}, true
}
