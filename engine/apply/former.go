package apply

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

	"kanon.dev/kanon/engine/keyring"
)

// Before marks were sealed, a child had three labels, and AnnotationOwner held rule, node, parent and the child itself as
// JSON. Anybody can write that, into any object that they may write. So such a mark proves something only of a child that
// has a controller ownerReference to a parent in its own namespace, which says the same, and only where the object is older
// than the first key. It stays as it is until something else of the child changes. All other children get a new mark when
// they are rendered next, see isOursUnproven.

// LabelNode held the id of the node that made the child, see NodeLabel.
const LabelNode = "kanon.dev/node"

// formerVersion began the text of AnnotationApplied.
const formerVersion = "1"

// ownerRecord is what AnnotationOwner held: the owner and the child itself, so that a copy of the annotation on another
// object proves nothing.
type ownerRecord struct {
	Owner
	Child Ref `json:"child"`
}

// readFormerOwner reads a former mark of obj. It answers only when the mark names obj itself.
func readFormerOwner(obj *unstructured.Unstructured) (Owner, bool) {
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

// checkFormer says what a former mark proves.
func (m *Marks) checkFormer(obj *unstructured.Unstructured) (Owner, keyring.Verdict) {
	owner, ok := readFormerOwner(obj)
	reference := referenceTo(obj, owner.Parent.UID)
	switch {
	case !ok:
		return Owner{}, keyring.Forged
	case obj.GetCreationTimestamp().After(m.keys().Since()):
		return owner, keyring.Forged
	case owner.Tracked, reference["controller"] != true, owner.Parent.Namespace == "", owner.Parent.Namespace != obj.GetNamespace():
		return owner, keyring.Unknown
	default:
		return owner, keyring.Outdated
	}
}

// isFormer says whether obj has a former mark, whatever that proves.
func isFormer(obj *unstructured.Unstructured) bool {
	if text, ok := metaString(obj, "annotations", AnnotationApplied); ok {
		if _, isMark := parseMark(text); isMark {
			return false
		}
	}
	_, ok := readFormerOwner(obj)
	return ok
}

// formerCounts says whether obj has a former mark that proves something.
func (m *Marks) formerCounts(obj *unstructured.Unstructured) bool {
	_, verdict := m.checkFormer(obj)
	return isFormer(obj) && verdict.Proves()
}

// addFormer is Marks.add as it was in the former version.
func addFormer(object *unstructured.Unstructured, owner Owner) error {
	child := RefOf(object)
	record, err := json.Marshal(ownerRecord{Owner: owner, Child: child})
	if err != nil {
		return fmt.Errorf("encode the owner of %s: %w", child, err)
	}
	metadata := ensureMap(object.Object, "metadata")
	labels, annotations := ensureMap(metadata, "labels"), ensureMap(metadata, "annotations")
	dropMarks(labels, annotations)
	labels[LabelRule] = owner.RuleID
	labels[LabelParentUID] = string(owner.Parent.UID)
	labels[LabelNode] = NodeLabel(owner.Node)
	annotations[AnnotationOwner] = string(record)
	return nil
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

// former is the child with a former mark, to be compared with an object that has one.
func (w *Writer) former(c *Child) (*Child, error) {
	twin := *c
	twin.isFormer = true
	object, metadata := maps.Clone(c.Object.Object), maps.Clone(ensureMap(c.Object.Object, "metadata"))
	for _, field := range []string{"labels", "annotations"} {
		metadata[field] = maps.Clone(ensureMap(metadata, field))
	}
	object["metadata"] = metadata
	twin.Object = &unstructured.Unstructured{Object: object}
	if err := addFormer(twin.Object, twin.Owner); err != nil {
		return nil, err
	}
	return &twin, w.takeFingerprint(&twin)
}

// remark gives a child that has a former mark, and that is about to be written to, the mark that it would have now. It is a
// patch and not an apply, so that all that we own stays in one Update entry, and later changes cost no apply either. A child
// that is applied to anyway is returned as it is. Where nothing but the mark is another one, the child is in sync then.
func (w *Writer) remark(ctx context.Context, gvr schema.GroupVersionResource, child *Child, live *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	if !isFormer(live) || !child.updatedOnly(live) {
		return live, nil
	}
	former, err := w.former(child)
	last, ok := recorded(live)
	if err != nil || !ok || last.paths != former.fingerprint.paths {
		return live, err
	}
	fresh := child.mark
	fresh.fingerprint = fingerprint{paths: child.fingerprint.paths, content: last.content}
	if last.value == former.fingerprint.value && former.covered(live) {
		fresh.fingerprint = child.fingerprint
	}
	annotations := map[string]any{AnnotationOwner: nil, AnnotationApplied: fresh.String()}
	labels := map[string]any{LabelParentUID: nil, LabelNode: nil}
	if child.Owner.Tracked {
		annotations[AnnotationOwner] = child.Owner.text()
		delete(labels, LabelParentUID)
	}
	body, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": string(live.GetUID()), "labels": labels, "annotations": annotations,
	}})
	if err != nil {
		return nil, fmt.Errorf("encode the mark of %s: %w", child.Ref, err)
	}
	answer, err := w.resource(gvr, child.Ref.Namespace).Patch(ctx, child.Ref.Name, types.MergePatchType, body,
		metav1.PatchOptions{FieldManager: Manager, FieldValidation: metav1.FieldValidationStrict})
	if err != nil {
		logr.FromContextOrDiscard(ctx).V(4).Info("could not replace a former mark; applying the child", "child", child.Ref, "reason", err.Error())
		return live, nil
	}
	return answer, nil
}
