package apply

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
)

// Manager is the field manager of child writes, and of nothing else.
const Manager = "kanon"

// Labels of a child. They only select: other controllers copy labels (EndpointSlices carry those of their Service), so
// they prove nothing.
const (
	// LabelRule holds the rule's id, see RuleID.
	LabelRule = "kanon.dev/rule"
	// LabelParentUID holds the parent's UID.
	LabelParentUID = "kanon.dev/parent-uid"
	// LabelNode holds the id of the node that made the child, see NodeLabel.
	LabelNode = "kanon.dev/node"
)

// Annotations of a child.
const (
	// AnnotationOwner names rule, node, parent and the child itself, as JSON. See OwnerOf.
	AnnotationOwner = "kanon.dev/owner"
	// AnnotationApplied records what was written last: hash version, value hash, path-set hash and, with Policy.Content,
	// content hash.
	AnnotationApplied = "kanon.dev/applied"
	// AnnotationRecreated says how often a child was made anew in a row, and when last.
	AnnotationRecreated = "kanon.dev/recreated"
)

// Ref names one object. The version is left out on purpose: one object under two apiVersions is one object.
type Ref struct {
	Group     string    `json:"group,omitempty"`
	Kind      string    `json:"kind"`
	Namespace string    `json:"namespace,omitempty"`
	Name      string    `json:"name"`
	UID       types.UID `json:"uid,omitempty"`
}

// RefOf is the reference to obj, with its UID where it has one.
func RefOf(obj *unstructured.Unstructured) Ref {
	return Ref{
		Group:     obj.GroupVersionKind().Group,
		Kind:      obj.GetKind(),
		Namespace: obj.GetNamespace(),
		Name:      obj.GetName(),
		UID:       obj.GetUID(),
	}
}

// String is the form used in messages: Deployment.apps team-a/front, or Namespace team-a.
func (r Ref) String() string {
	kind := schema.GroupKind{Group: r.Group, Kind: r.Kind}.String()
	if r.Namespace == "" {
		return kind + " " + r.Name
	}
	return kind + " " + r.Namespace + "/" + r.Name
}

// sameObject says whether both name the same thing, whatever its UID.
func (r Ref) sameObject(other Ref) bool {
	r.UID, other.UID = "", ""
	return r == other
}

// Owner says for whom a child was made.
type Owner struct {
	// RuleID is the id that RuleID computed.
	RuleID string `json:"id"`
	// Rule is namespace/name of the rule, for people.
	Rule string `json:"rule"`
	// Node is the id of the node in the rule.
	Node string `json:"node"`
	// Parent is the object that the child belongs to, with its UID.
	Parent Ref `json:"parent"`
	// Tracked is true where the child carries no ownerReference to the parent, and was not meant to when it was written last.
	Tracked bool `json:"tracked,omitempty"`
	// Retain says when the child is to be let go, as was decided when it was written last.
	Retain Retain `json:"retain,omitempty"`
}

// ownerRecord is the annotation's content: the owner and the child itself, so that a copy of the annotation on another
// object proves nothing.
type ownerRecord struct {
	Owner
	Child Ref `json:"child"`
}

// RuleID identifies a rule of one Kanon installation: 16 hex digits (64 bits) of a SHA-256 over the length-prefixed
// namespace of Kanon, namespace of the rule and name of the rule. Two installations, two tenants and long names
// therefore never meet.
func RuleID(kanonNamespace, ruleNamespace, ruleName string) string {
	var text []byte
	for _, part := range []string{kanonNamespace, ruleNamespace, ruleName} {
		text = fmt.Appendf(text, "%d:%s", len(part), part)
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])[:16]
}

// NodeLabel is the value of LabelNode for a node's id: the id itself where it is a valid label value, otherwise its
// first 32 characters (or "node" when those are not valid either) and 16 hex digits of its hash.
func NodeLabel(node string) string {
	if len(validation.IsValidLabelValue(node)) == 0 {
		return node
	}
	sum := sha256.Sum256([]byte(node))
	digits := hex.EncodeToString(sum[:])[:16]
	prefix := node[:min(len(node), 32)]
	if label := prefix + "-" + digits; len(validation.IsValidLabelValue(label)) == 0 {
		return label
	}
	return "node-" + digits
}

// OwnerOf reads AnnotationOwner of obj. It answers only when the annotation names obj itself (group, kind, namespace,
// name); an annotation that was copied from another object says nothing about obj.
func OwnerOf(obj *unstructured.Unstructured) (Owner, bool) {
	text, ok := metaString(obj, "annotations", AnnotationOwner)
	if !ok {
		return Owner{}, false
	}
	record, ok := parseOwner(text)
	if !ok || !record.Child.sameObject(RefOf(obj)) {
		return Owner{}, false
	}
	return record.Owner, true
}

// Owns says whether obj is a child of the parent with parentUID, made by the rule with ruleID. The proof is an
// AnnotationOwner that names both and obj itself, or a controller ownerReference to parentUID on an object that no other
// rule claims.
func Owns(obj *unstructured.Unstructured, ruleID string, parentUID types.UID) bool {
	if parentUID == "" {
		return false
	}
	owner, ok := OwnerOf(obj)
	if ok && owner.RuleID != ruleID {
		return false
	}
	if ok && owner.Parent.UID == parentUID {
		return true
	}
	controller := metav1.GetControllerOfNoCopy(obj)
	if controller == nil || controller.UID != parentUID {
		return false
	}
	label, labelled := metaString(obj, "labels", LabelRule)
	return ok || !labelled || label == ruleID
}

// earlierParent says whether obj was made for an object with the parent's name that is gone: another UID under the same
// group, kind, namespace and name.
func earlierParent(obj *unstructured.Unstructured, parent Ref) bool {
	if owner, ok := OwnerOf(obj); ok {
		return owner.Parent.sameObject(parent) && owner.Parent.UID != parent.UID
	}
	controller := metav1.GetControllerOfNoCopy(obj)
	if controller == nil || controller.UID == parent.UID {
		return false
	}
	gv, err := schema.ParseGroupVersion(controller.APIVersion)
	if err != nil {
		return false
	}
	named := Ref{Group: gv.Group, Kind: controller.Kind, Namespace: parent.Namespace, Name: controller.Name}
	return named.sameObject(parent) && (parent.Namespace == "" || parent.Namespace == obj.GetNamespace())
}

// metaString reads one entry of the labels or annotations without copying the map.
func metaString(obj *unstructured.Unstructured, field, key string) (string, bool) {
	metadata, ok := obj.Object["metadata"].(map[string]any)
	if !ok {
		return "", false
	}
	entries, ok := metadata[field].(map[string]any)
	if !ok {
		return "", false
	}
	text, ok := entries[key].(string)
	return text, ok
}
