package mark

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// Labels of a child. They only select: other controllers copy labels (EndpointSlices carry those of their Service), so
// they prove nothing.
const (
	// LabelRule holds the rule's id, see RuleID.
	LabelRule = "kanon.dev/rule"
	// LabelParentUID holds the parent's UID, of a child that is tracked.
	LabelParentUID = "kanon.dev/parent-uid"
)

// Annotations of a child, beside AnnotationApplied.
const (
	// AnnotationOwner names the parent of a child that is tracked, as Ref.String has it.
	AnnotationOwner = "kanon.dev/owner"
	// AnnotationRecreated says how often a child was recreated in a row, and when last.
	AnnotationRecreated = "kanon.dev/recreated"
)

// Finalizer is the name of a rule's finalizer on its parents.
func Finalizer(ruleID string) string { return "kanon.dev/rule-" + ruleID }

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

// sameObject reports whether both name the same thing, whatever its UID.
func (r Ref) sameObject(other Ref) bool {
	r.UID, other.UID = "", ""
	return r == other
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
