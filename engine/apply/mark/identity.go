package mark

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// Labels of a child. They only select: other controllers copy labels (EndpointSlices have those of their Service), so
// they prove nothing.
const (
	// LabelRule has the rule's id, see RuleID.
	LabelRule = "kanon.dev/rule"
	// LabelParentUID has the UID of the parent of a tracked child.
	LabelParentUID = "kanon.dev/parent-uid"
)

// Annotations of a child, beside AnnotationApplied.
const (
	// AnnotationOwner names the parent of a tracked child, in the form of Ref.String.
	AnnotationOwner = "kanon.dev/owner"
	// AnnotationRecreated has how often a child was recreated in a row, and when last.
	AnnotationRecreated = "kanon.dev/recreated"
)

// Finalizer returns the name of a rule's finalizer on its parents.
func Finalizer(ruleID string) string { return "kanon.dev/rule-" + ruleID }

// Ref identifies one object. It has no version on purpose: one object under two apiVersions is one object.
type Ref struct {
	Group     string    `json:"group,omitempty"`
	Kind      string    `json:"kind"`
	Namespace string    `json:"namespace,omitempty"`
	Name      string    `json:"name"`
	UID       types.UID `json:"uid,omitempty"`
}

// RefOf returns the reference to obj, with its UID if it has one.
func RefOf(obj *unstructured.Unstructured) Ref {
	return Ref{
		Group:     obj.GroupVersionKind().Group,
		Kind:      obj.GetKind(),
		Namespace: obj.GetNamespace(),
		Name:      obj.GetName(),
		UID:       obj.GetUID(),
	}
}

// String returns the form for messages: Deployment.apps team-a/front, or Namespace team-a.
func (r Ref) String() string {
	kind := schema.GroupKind{Group: r.Group, Kind: r.Kind}.String()
	if r.Namespace == "" {
		return kind + " " + r.Name
	}
	return kind + " " + r.Namespace + "/" + r.Name
}

// sameObject reports whether both identify the same object, whatever the UIDs.
func (r Ref) sameObject(other Ref) bool {
	r.UID, other.UID = "", ""
	return r == other
}

// RuleID identifies a rule of one Kanon installation: 16 hex digits (64 bits) of a SHA-256 over the length-prefixed
// namespace of Kanon, namespace of the rule and name of the rule. So two installations, two tenants or long names
// never collide.
func RuleID(kanonNamespace, ruleNamespace, ruleName string) string {
	var text []byte
	for _, part := range []string{kanonNamespace, ruleNamespace, ruleName} {
		text = fmt.Appendf(text, "%d:%s", len(part), part)
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])[:16]
}

// EnsureMap returns the map under key, and adds it if it does not exist.
func EnsureMap(parent map[string]any, key string) map[string]any {
	if m, ok := parent[key].(map[string]any); ok {
		return m
	}
	m := map[string]any{}
	parent[key] = m
	return m
}

// MetadataString returns one entry of the labels or annotations without copying the map.
func MetadataString(obj *unstructured.Unstructured, field, key string) (string, bool) {
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
