package mark

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"kanon.dev/kanon/engine/keyring"
)

// EarlierParent reports whether obj was created for an earlier object with the parent's identity: the same group,
// kind, namespace and name, but another UID.
func (m *Marks) EarlierParent(obj *unstructured.Unstructured, parent Ref) bool {
	if owner, ok := m.OwnerOf(obj); ok {
		return owner.IsFor(parent) && owner.Parent.UID != parent.UID
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

// Marks proves whose child an object is. It is safe for concurrent use.
type Marks struct {
	Keys func() *keyring.Keyring
	// Trusting is true if marks count without a proof, for those who lack the keys and write nothing.
	Trusting bool
}

// NewMarks returns Marks that seal and check with the ring that keys returns at the time, which must not be nil.
func NewMarks(keys func() *keyring.Keyring) *Marks { return &Marks{Keys: keys} }

// OwnerOf returns for whom Kanon created obj. ok is false if that is not proven: obj has no mark, or one that was
// copied or made up.
func (m *Marks) OwnerOf(obj *unstructured.Unstructured) (Owner, bool) {
	owner, verdict := m.check(obj)
	return owner, verdict.Proves()
}

// Owns reports whether it is proven that obj is a child of the parent with parentUID, created by the rule with
// ruleID.
func (m *Marks) Owns(obj *unstructured.Unstructured, ruleID string, parentUID types.UID) bool {
	owner, ok := m.OwnerOf(obj)
	return ok && parentUID != "" && owner.RuleID == ruleID && owner.Parent.UID == parentUID
}

// check reads the mark of obj and returns what it proves.
func (m *Marks) check(obj *unstructured.Unstructured) (Owner, keyring.Verdict) {
	read, ok := Of(obj)
	if !ok {
		return Owner{}, keyring.Forged
	}
	owner, said := read.owner(obj)
	if m.Trusting {
		return owner, keyring.Current
	}
	return owner, m.Keys().Check(read.statement(owner.RuleID, RefOf(obj), said), read.seal)
}

// IsSealedFor is Owns for an object whose label for the rule somebody has changed or removed.
func (m *Marks) IsSealedFor(obj *unstructured.Unstructured, ruleID string, parentUID types.UID) bool {
	read, ok := Of(obj)
	if !ok || read.uid != parentUID {
		return false
	}
	_, said := read.owner(obj)
	return m.Keys().Check(read.statement(ruleID, RefOf(obj), said), read.seal).Proves()
}

// ReadOwner returns the owner that an object's metadata names. It proves nothing: it is for people, and for callers
// without keys.
func ReadOwner(obj *unstructured.Unstructured) (Owner, bool) {
	read, ok := Of(obj)
	if !ok {
		return Owner{}, false
	}
	owner, _ := read.owner(obj)
	return owner, true
}

// NodeOf returns the node that the mark of an object names; empty if there is none. Like ReadOwner, it proves nothing.
func NodeOf(obj *unstructured.Unstructured) string {
	read, _ := Of(obj)
	return read.node
}

// owner combines a mark with the rest of the object's metadata. said is the text of AnnotationOwner, if the seal
// covers it.
func (m Mark) owner(obj *unstructured.Unstructured) (owner Owner, said string) {
	owner = Owner{Node: m.node, Parent: Ref{UID: m.uid}, Tracked: m.isTracked(), Retain: m.retain(), parent: m.parent}
	owner.RuleID, _ = MetadataString(obj, "labels", LabelRule)
	if m.isTracked() {
		said, _ = MetadataString(obj, "annotations", AnnotationOwner)
		owner.Parent = parseRef(said)
		owner.Parent.UID = m.uid
		return owner, said
	}
	if reference := referenceTo(obj, m.uid); reference != nil {
		apiVersion, _ := reference["apiVersion"].(string)
		if group, _, ok := strings.Cut(apiVersion, "/"); ok {
			owner.Parent.Group = group
		}
		owner.Parent.Kind, _ = reference["kind"].(string)
		owner.Parent.Name, _ = reference["name"].(string)
		if !m.isForClusterScoped() {
			owner.Parent.Namespace = obj.GetNamespace()
		}
	}
	return owner, ""
}

// newMark returns the mark of an owner's child, without hashes.
func (m *Marks) newMark(owner Owner, child Ref) Mark {
	fresh := Mark{flags: flagsOf(owner), uid: owner.Parent.UID, parent: parentHash(owner.Parent), node: owner.Node}
	fresh.seal = m.Keys().Seal(fresh.statement(owner.RuleID, child, owner.Text()))
	return fresh
}

// Add adds the label, the annotations and the ownerReference of this owner's child to an object. It does not add
// AnnotationApplied, which needs hashes, but returns its mark. A nil controller adds no ownerReference.
func (m *Marks) Add(object *unstructured.Unstructured, owner Owner, controller *metav1.OwnerReference) Mark {
	metadata := EnsureMap(object.Object, "metadata")
	labels, annotations := EnsureMap(metadata, "labels"), EnsureMap(metadata, "annotations")
	dropMarks(labels, annotations) // a template may have copied those of another object
	labels[LabelRule] = owner.RuleID
	if owner.Tracked {
		labels[LabelParentUID] = string(owner.Parent.UID)
		annotations[AnnotationOwner] = owner.Text()
	}
	refer(metadata, controller)
	return m.newMark(owner, RefOf(object))
}

// dropMarks removes all marks from an object's labels and annotations.
func dropMarks(labels, annotations map[string]any) {
	delete(labels, LabelRule)
	delete(labels, LabelParentUID)
	delete(annotations, AnnotationOwner)
	delete(annotations, AnnotationApplied)
}

// Remove removes everything from an object that Kanon writes into the metadata of a child: the mark and the owner
// reference.
func Remove(object *unstructured.Unstructured) {
	owner, marked := ReadOwner(object)
	metadata := EnsureMap(object.Object, "metadata")
	dropMarks(EnsureMap(metadata, "labels"), EnsureMap(metadata, "annotations"))
	if marked && RefersTo(object, owner.Parent.UID) {
		metadata["ownerReferences"] = WithoutReference(object, owner.Parent.UID)
	}
	for _, field := range []string{"labels", "annotations"} {
		if len(EnsureMap(metadata, field)) == 0 {
			delete(metadata, field)
		}
	}
	if references, _ := metadata["ownerReferences"].([]any); len(references) == 0 {
		delete(metadata, "ownerReferences")
	}
}
