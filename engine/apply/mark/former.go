package mark

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation"

	"kanon.dev/kanon/engine/keyring"
)

// Before marks were sealed, a child had three labels, and AnnotationOwner had the rule, node, parent and child as
// JSON. Anybody can write that into any object that they may write. So such a mark proves something only if the
// object is older than the first key and has a controller ownerReference to the named parent in its own namespace. It
// then stays until something else of the child changes. All other children get a new mark when they are rendered
// next; see isOursUnproven in package apply.

// LabelNode had the id of the node that rendered the child, see NodeLabel.
const LabelNode = "kanon.dev/node"

// formerVersion began the text of AnnotationApplied.
const formerVersion = "1"

// ownerRecord is the former content of AnnotationOwner. It includes the child itself, so that a copy on another
// object proves nothing.
type ownerRecord struct {
	Owner
	Child Ref `json:"child"`
}

// readFormerOwner reads a former mark of obj. It returns false unless the mark names obj itself.
func readFormerOwner(obj *unstructured.Unstructured) (Owner, bool) {
	text, ok := MetadataString(obj, "annotations", AnnotationOwner)
	if !ok {
		return Owner{}, false
	}
	record, ok := parseOwner(text)
	if !ok || !record.Child.sameObject(RefOf(obj)) {
		return Owner{}, false
	}
	return record.Owner, true
}

// parseOwner parses the content of a former AnnotationOwner.
func parseOwner(text string) (record ownerRecord, ok bool) {
	err := json.Unmarshal([]byte(text), &record)
	return record, err == nil
}

// checkFormer returns what a former mark proves.
func (m *Marks) checkFormer(obj *unstructured.Unstructured) (Owner, keyring.Verdict) {
	owner, ok := readFormerOwner(obj)
	reference := referenceTo(obj, owner.Parent.UID)
	switch {
	case !ok:
		return Owner{}, keyring.Forged
	case obj.GetCreationTimestamp().After(m.Keys().Since()):
		return owner, keyring.Forged
	case owner.Tracked, reference["controller"] != true, owner.Parent.Namespace == "", owner.Parent.Namespace != obj.GetNamespace():
		return owner, keyring.Unknown
	default:
		return owner, keyring.Outdated
	}
}

// IsFormer reports whether obj has a former mark, whether or not it proves something.
func IsFormer(obj *unstructured.Unstructured) bool {
	if text, ok := MetadataString(obj, "annotations", AnnotationApplied); ok {
		if _, isMark := ParseMark(text); isMark {
			return false
		}
	}
	_, ok := readFormerOwner(obj)
	return ok
}

// FormerCounts reports whether obj has a former mark that proves something.
func (m *Marks) FormerCounts(obj *unstructured.Unstructured) bool {
	if !IsFormer(obj) {
		return false
	}
	_, verdict := m.checkFormer(obj)
	return verdict.Proves()
}

// AddFormer is the former version of Marks.Add.
func AddFormer(object *unstructured.Unstructured, owner Owner) error {
	child := RefOf(object)
	record, err := json.Marshal(ownerRecord{Owner: owner, Child: child})
	if err != nil {
		return fmt.Errorf("encode the owner of %s: %w", child, err)
	}
	metadata := EnsureMap(object.Object, "metadata")
	labels, annotations := EnsureMap(metadata, "labels"), EnsureMap(metadata, "annotations")
	dropMarks(labels, annotations)
	labels[LabelRule] = owner.RuleID
	labels[LabelParentUID] = string(owner.Parent.UID)
	labels[LabelNode] = NodeLabel(owner.Node)
	annotations[AnnotationOwner] = string(record)
	return nil
}

// NodeLabel returns the value of LabelNode for a node's id: the id itself if it is a valid label value, otherwise its
// first 32 characters (or "node" if those are not valid either) and 16 hex digits of its hash.
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
