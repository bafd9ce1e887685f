package apply

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"kanon.dev/kanon/engine/keyring"
)

// A child carries a mark: text that says by which rule, for which parent and by which node it was made. Every byte of it
// costs the API server at each write, twice with its path in managedFields. So a mark says nothing that the object says
// elsewhere:
//
//	labels:
//	  kanon.dev/rule: 9a393d940ded9191        # selects; anybody may copy it
//	annotations:
//	  kanon.dev/applied: 2.<uid>.<parent>.<seal>.<value>.<paths>.<content>.<node>
//	ownerReferences: [{kind: WebApp, name: front, uid: …, controller: true}]
//
// A child without an owner reference to its parent is tracked, and says besides for whom it was made, for people, for the
// index and for lists:
//
//	labels:
//	  kanon.dev/parent-uid: 0b5c…
//	annotations:
//	  kanon.dev/owner: WebApp.shop.example.com team-a/front
//
// The seal is a keyed digest over the rule, the parent's UID, the child's own group, kind, namespace and name, and all that
// the mark says but for the hashes. So a copy of a mark on another object proves nothing, nor does one that somebody made up.

// AnnotationApplied holds the mark and, in it, what was written last. See the comment above.
const AnnotationApplied = "kanon.dev/applied"

// markVersion begins the text of a mark. It changes when the way of hashing or normalising does, so that everything is applied
// once more.
const markVersion = "2"

// How many characters the hashes of a mark have, of 22 that hashOf gives. They tell one write of a child from the next, and
// nobody gains by two that are alike.
const (
	valueSize = 16
	pathsSize = 12
)

// The letters that may follow it, in this order.
const (
	flagTracked = "t"
	// flagCluster: the parent is cluster-scoped.
	flagCluster = "c"
	// These are the values of Retain; none stands for RetainNever.
	flagPruned  = "p"
	flagDeleted = "d"
	flagAlways  = "a"
)

// mark is what AnnotationApplied holds.
type mark struct {
	flags  string
	uid    types.UID
	parent string // see parentHash
	seal   string
	fingerprint
	node string
}

// markFields is how many fields the text of a mark has.
const markFields = 8

// String is the annotation's text. The node is last because it is the author's.
func (m mark) String() string {
	return strings.Join([]string{
		markVersion + m.flags, packUID(m.uid), m.parent, m.seal, m.value, m.paths, m.content, m.node,
	}, ".")
}

// parseMark reads the annotation's text; false for any that String does not write.
func parseMark(text string) (m mark, ok bool) {
	flags, ok := strings.CutPrefix(text, markVersion)
	if !ok || strings.Contains(text, separator) {
		return mark{}, false
	}
	var fields [markFields]string
	rest := flags
	for i := range markFields - 1 {
		if fields[i], rest, ok = strings.Cut(rest, "."); !ok {
			return mark{}, false
		}
	}
	m = mark{flags: fields[0], parent: fields[2], seal: fields[3], node: rest}
	m.value, m.paths, m.content = fields[4], fields[5], fields[6]
	m.uid, ok = unpackUID(fields[1])
	return m, ok && !strings.Contains(string(m.uid), separator)
}

// sameClaim says whether two marks differ in nothing but hashes.
func (m mark) sameClaim(other mark) bool {
	m.fingerprint, other.fingerprint = fingerprint{}, fingerprint{}
	return m == other
}

// isTracked says whether the child carries no owner reference to its parent, and was not meant to.
func (m mark) isTracked() bool { return strings.HasPrefix(m.flags, flagTracked) }

// isForClusterScoped says whether the parent has no namespace.
func (m mark) isForClusterScoped() bool { return strings.Contains(m.flags, flagCluster) }

func (m mark) retain() Retain {
	switch {
	case strings.HasSuffix(m.flags, flagPruned):
		return RetainWhenPruned
	case strings.HasSuffix(m.flags, flagDeleted):
		return RetainWhenDeleted
	case strings.HasSuffix(m.flags, flagAlways):
		return RetainAlways
	default:
		return RetainNever
	}
}

// flagsOf are the letters of what an owner says.
func flagsOf(o Owner) string {
	flags := ""
	if o.Tracked {
		flags += flagTracked
	}
	if o.Parent.Namespace == "" {
		flags += flagCluster
	}
	switch o.Retain {
	case RetainWhenPruned:
		flags += flagPruned
	case RetainWhenDeleted:
		flags += flagDeleted
	case RetainAlways:
		flags += flagAlways
	case RetainNever:
	}
	return flags
}

// separator is between the parts of a statement. No part that comes from an object's annotations has it; names and kinds
// cannot.
const separator = "\x00"

// statement is what the seal of a mark is of.
func (m mark) statement(ruleID string, child Ref, owner string) string {
	return strings.Join([]string{
		"child", ruleID, string(m.uid), m.parent, m.flags, m.node, child.Group, child.Kind, child.Namespace, child.Name, strings.ReplaceAll(owner, separator, " "),
	}, separator)
}

// parentHash is 48 bits of a hash of what tells a parent from others, whatever its UID: by it the children of one that was
// deleted with orphaning return to the one that comes in its place, when their reference to it is gone.
func parentHash(parent Ref) string {
	sum := sha256.Sum256([]byte(strings.Join([]string{parent.Group, parent.Kind, parent.Namespace, parent.Name}, separator)))
	return base64.RawURLEncoding.EncodeToString(sum[:6])
}

// packUID writes a UID, which is a UUID in practice, in 22 characters; any other in as many as it needs.
func packUID(uid types.UID) string {
	if digits := strings.ReplaceAll(string(uid), "-", ""); len(digits) == 32 {
		if packed, err := hex.DecodeString(digits); err == nil && formatUUID(packed) == uid {
			return base64.RawURLEncoding.EncodeToString(packed)
		}
	}
	return "~" + base64.RawURLEncoding.EncodeToString([]byte(uid))
}

func unpackUID(text string) (types.UID, bool) {
	other, isOther := strings.CutPrefix(text, "~")
	packed, err := base64.RawURLEncoding.DecodeString(other)
	switch {
	case err != nil:
		return "", false
	case isOther:
		return types.UID(packed), true
	case len(packed) != 16:
		return "", false
	default:
		return formatUUID(packed), true
	}
}

func formatUUID(b []byte) types.UID {
	var text [36]byte
	hex.Encode(text[:], b[:4])
	at := 8
	for _, part := range [][]byte{b[4:6], b[6:8], b[8:10], b[10:]} {
		text[at] = '-'
		hex.Encode(text[at+1:], part)
		at += 1 + 2*len(part)
	}
	return types.UID(text[:])
}

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
	// Retain says when the child is to be let go, as was decided when it was written last.
	Retain Retain `json:"retain,omitempty"`

	// parent is the hash of Parent, where the mark is what it was read from.
	parent string
}

// IsFor says whether the child was made for an object of that group, kind, namespace and name, whatever its UID.
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

// Marks proves whose an object is. It is safe for concurrent use.
type Marks struct {
	keys func() *keyring.Keyring
}

// NewMarks returns Marks that seal and check by the ring that keys returns at the time, which must not be nil.
func NewMarks(keys func() *keyring.Keyring) *Marks { return &Marks{keys: keys} }

// OwnerOf is for whom Kanon made obj; false where that is not proven: where obj has no mark, or one that was copied or made up.
func (m *Marks) OwnerOf(obj *unstructured.Unstructured) (Owner, bool) {
	owner, verdict := m.check(obj)
	return owner, verdict.Proves()
}

// Owns says whether it is proven that obj is a child of the parent with parentUID, made by the rule with ruleID.
func (m *Marks) Owns(obj *unstructured.Unstructured, ruleID string, parentUID types.UID) bool {
	owner, ok := m.OwnerOf(obj)
	return ok && parentUID != "" && owner.RuleID == ruleID && owner.Parent.UID == parentUID
}

// check reads the mark of obj and says what it proves.
func (m *Marks) check(obj *unstructured.Unstructured) (Owner, keyring.Verdict) {
	text, ok := metaString(obj, "annotations", AnnotationApplied)
	if read, isMark := parseMark(text); ok && isMark {
		owner, said := read.owner(obj)
		return owner, m.keys().Check(read.statement(owner.RuleID, RefOf(obj), said), read.seal)
	}
	return m.checkFormer(obj)
}

// isSealedFor is Owns for an object of which somebody has changed or removed the label that names the rule.
func (m *Marks) isSealedFor(obj *unstructured.Unstructured, ruleID string, parentUID types.UID) bool {
	text, _ := metaString(obj, "annotations", AnnotationApplied)
	read, ok := parseMark(text)
	if !ok || read.uid != parentUID {
		return false
	}
	_, said := read.owner(obj)
	return m.keys().Check(read.statement(ruleID, RefOf(obj), said), read.seal).Proves()
}

// ReadOwner is what an object says of whom it was made for. It proves nothing: it is for people, and for who has no keys.
func ReadOwner(obj *unstructured.Unstructured) (Owner, bool) {
	text, ok := metaString(obj, "annotations", AnnotationApplied)
	if read, isMark := parseMark(text); ok && isMark {
		owner, _ := read.owner(obj)
		return owner, true
	}
	return readFormerOwner(obj)
}

// owner is what a mark says together with the rest of the metadata of the object that has it. said is the text of
// AnnotationOwner, as far as it counts.
func (m mark) owner(obj *unstructured.Unstructured) (owner Owner, said string) {
	owner = Owner{Node: m.node, Parent: Ref{UID: m.uid}, Tracked: m.isTracked(), Retain: m.retain(), parent: m.parent}
	owner.RuleID, _ = metaString(obj, "labels", LabelRule)
	if m.isTracked() {
		said, _ = metaString(obj, "annotations", AnnotationOwner)
		owner.Parent = parseRef(said)
		owner.Parent.UID = m.uid
		return owner, said
	}
	if reference := referenceTo(obj, m.uid); reference != nil {
		apiVersion, _ := reference["apiVersion"].(string)
		owner.Parent.Group, _, _ = strings.Cut(apiVersion, "/")
		if !strings.Contains(apiVersion, "/") {
			owner.Parent.Group = ""
		}
		owner.Parent.Kind, _ = reference["kind"].(string)
		owner.Parent.Name, _ = reference["name"].(string)
		if !m.isForClusterScoped() {
			owner.Parent.Namespace = obj.GetNamespace()
		}
	}
	return owner, ""
}

// referenceTo is the ownerReference of obj to the object with that UID, as it stands there; nil where there is none.
func referenceTo(obj *unstructured.Unstructured, uid types.UID) map[string]any {
	metadata, _ := obj.Object["metadata"].(map[string]any)
	references, _ := metadata["ownerReferences"].([]any)
	for _, reference := range references {
		if fields, ok := reference.(map[string]any); ok && fields["uid"] == string(uid) {
			return fields
		}
	}
	return nil
}

// parseRef reads what Ref.String writes.
func parseRef(text string) (ref Ref) {
	kind, name, _ := strings.Cut(text, " ")
	gk := schema.ParseGroupKind(kind)
	ref.Group, ref.Kind = gk.Group, gk.Kind
	if namespace, inNamespace, ok := strings.Cut(name, "/"); ok {
		ref.Namespace, ref.Name = namespace, inNamespace
	} else {
		ref.Name = name
	}
	return ref
}

// newMark is the mark of an owner's child, without hashes.
func (m *Marks) newMark(owner Owner, child Ref) mark {
	fresh := mark{flags: flagsOf(owner), uid: owner.Parent.UID, parent: parentHash(owner.Parent), node: owner.Node}
	fresh.seal = m.keys().Seal(fresh.statement(owner.RuleID, child, owner.text()))
	return fresh
}

// text is AnnotationOwner of the owner's children; empty where they have none.
func (o Owner) text() string {
	if !o.Tracked {
		return ""
	}
	return o.Parent.String()
}

// add adds what makes an object recognisable as this owner's child, but for AnnotationApplied, which has hashes, and
// returns the mark. The object refers to the controller, unless that is nil.
func (m *Marks) add(object *unstructured.Unstructured, owner Owner, controller *metav1.OwnerReference) mark {
	metadata := ensureMap(object.Object, "metadata")
	labels, annotations := ensureMap(metadata, "labels"), ensureMap(metadata, "annotations")
	dropMarks(labels, annotations) // of the object that a template may have copied
	labels[LabelRule] = owner.RuleID
	if owner.Tracked {
		labels[LabelParentUID] = string(owner.Parent.UID)
		annotations[AnnotationOwner] = owner.text()
	}
	refer(metadata, controller)
	return m.newMark(owner, RefOf(object))
}

// dropMarks takes all marks, former ones too, out of an object's labels and annotations.
func dropMarks(labels, annotations map[string]any) {
	for _, key := range []string{LabelRule, LabelParentUID, LabelNode} {
		delete(labels, key)
	}
	for _, key := range []string{AnnotationOwner, AnnotationApplied} {
		delete(annotations, key)
	}
}

// refer adds the controller ownerReference to an object's metadata, unless that is nil.
func refer(metadata map[string]any, controller *metav1.OwnerReference) {
	if controller == nil {
		return
	}
	reference := map[string]any{
		"apiVersion": controller.APIVersion, "kind": controller.Kind, "name": controller.Name, "uid": string(controller.UID),
	}
	for name, value := range map[string]*bool{"controller": controller.Controller, "blockOwnerDeletion": controller.BlockOwnerDeletion} {
		if value != nil {
			reference[name] = *value
		}
	}
	rendered, _ := metadata["ownerReferences"].([]any)
	references := make([]any, 0, len(rendered)+1)
	for _, other := range rendered {
		if m, ok := other.(map[string]any); !ok || m["uid"] != string(controller.UID) {
			references = append(references, other)
		}
	}
	metadata["ownerReferences"] = append(references, any(reference))
}
