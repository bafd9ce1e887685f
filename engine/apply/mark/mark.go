package mark

import (
	"crypto/sha256"
	"encoding/base64"
	"strings"

	"github.com/google/uuid"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// A child carries a mark: text that names the rule, the parent and the node that it was created for. Every byte of it
// costs the API server at each write, twice with its path in managedFields. So a mark repeats nothing that the object
// has elsewhere:
//
//	labels:
//	  kanon.dev/rule: 9a393d940ded9191        # selects; anybody may copy it
//	annotations:
//	  kanon.dev/applied: 2.<uid>.<parent>.<seal>.<value>.<paths>.<content>.<node>
//	ownerReferences: [{kind: WebApp, name: front, uid: …, controller: true}]
//
// A child without an owner reference to its parent is tracked: it also names its parent, for people, for the index
// and for lists:
//
//	labels:
//	  kanon.dev/parent-uid: 0b5c…
//	annotations:
//	  kanon.dev/owner: WebApp.shop.example.com team-a/front
//
// The seal is a keyed digest over the rule, the parent's UID, the child's own group, kind, namespace and name, and
// everything else in the mark except for the hashes. So a mark that was copied to another object or made up proves
// nothing.

// AnnotationApplied has the mark, with hashes of the last write. See the comment above.
const AnnotationApplied = "kanon.dev/applied"

// markVersion begins the text of a mark. Change it when hashing or normalising changes, so that everything is applied
// once more. Raise record.Format with it, so that a version that does not know the mark leaves the rule alone.
const markVersion = "2"

// The number of characters that a mark keeps of its hashes, which have 22. They distinguish successive writes of one
// child, and nobody gains anything by a collision.
const (
	ValueSize = 16
	PathsSize = 12
)

// The flags that may follow the version, in this order.
const (
	flagTracked = "t"
	// flagCluster means that the parent is cluster-scoped.
	flagCluster = "c"
	// The values of Retain; RetainNever has no flag.
	flagPruned  = "p"
	flagDeleted = "d"
	flagAlways  = "a"
)

// Mark is the content of AnnotationApplied.
type Mark struct {
	flags  string
	uid    types.UID
	parent string // see parentHash
	seal   string
	Fingerprint
	node string
}

// markFields is the number of fields in the text of a mark.
const markFields = 8

// String returns the annotation's text. The node comes last because the rule's author chooses it freely.
func (m Mark) String() string {
	return strings.Join([]string{
		markVersion + m.flags, packUID(m.uid), m.parent, m.seal, m.Value, m.Paths, m.Content, m.node,
	}, ".")
}

// Of reads the mark of an object; false if it has none.
func Of(obj *unstructured.Unstructured) (Mark, bool) {
	text, _ := MetadataString(obj, "annotations", AnnotationApplied)
	return ParseMark(text)
}

// ParseMark parses the annotation's text; it returns false for any text that String does not write.
func ParseMark(text string) (m Mark, ok bool) {
	flags, ok := strings.CutPrefix(text, markVersion)
	if !ok || strings.Contains(text, separator) {
		return Mark{}, false
	}
	var fields [markFields]string
	rest := flags
	for i := range markFields - 1 {
		if fields[i], rest, ok = strings.Cut(rest, "."); !ok {
			return Mark{}, false
		}
	}
	m = Mark{flags: fields[0], parent: fields[2], seal: fields[3], node: rest}
	m.Value, m.Paths, m.Content = fields[4], fields[5], fields[6]
	m.uid, ok = unpackUID(fields[1])
	return m, ok && !strings.Contains(string(m.uid), separator)
}

// SameClaim reports whether two marks differ at most in their hashes.
func (m Mark) SameClaim(other Mark) bool {
	m.Fingerprint, other.Fingerprint = Fingerprint{}, Fingerprint{}
	return m == other
}

// isTracked reports whether the child was written without an owner reference to its parent.
func (m Mark) isTracked() bool { return strings.HasPrefix(m.flags, flagTracked) }

// isForClusterScoped reports whether the parent has no namespace.
func (m Mark) isForClusterScoped() bool { return strings.Contains(m.flags, flagCluster) }

func (m Mark) retain() Retain {
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

// flagsOf returns the flags for an owner.
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

// separator separates the parts of a statement. Parts from annotations are checked not to contain it; names and kinds
// cannot.
const separator = "\x00"

// statement returns what the seal of a mark covers.
func (m Mark) statement(ruleID string, child Ref, owner string) string {
	return strings.Join([]string{
		"child", ruleID, string(m.uid), m.parent, m.flags, m.node, child.Group, child.Kind, child.Namespace, child.Name, strings.ReplaceAll(owner, separator, " "),
	}, separator)
}

// parseRef parses what Ref.String writes.
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

// Fingerprint is what AnnotationApplied records about the last write.
type Fingerprint struct {
	// Value is the hash of everything rendered, without AnnotationApplied itself.
	Value string
	// Paths is the hash of the set of rendered paths. Without a schema it also covers the content of lists, because
	// it is unknown whether the server distinguishes their items.
	Paths string
	// Content is the hash of what was rendered, if Policy.Content asks for it; else empty.
	Content string
}

// Recorded returns the fingerprint of the last write from an object.
func Recorded(obj *unstructured.Unstructured) (f Fingerprint, ok bool) {
	m, ok := Of(obj)
	return m.Fingerprint, ok
}

// parentHash is 48 bits of a hash of a parent's identity without its UID. When a parent was deleted with orphaning,
// the references of its children to it are gone; by this hash they return to a new parent with the same identity.
func parentHash(parent Ref) string {
	sum := sha256.Sum256([]byte(strings.Join([]string{parent.Group, parent.Kind, parent.Namespace, parent.Name}, separator)))
	return base64.RawURLEncoding.EncodeToString(sum[:6])
}

// packUID encodes a UID, in practice a UUID, in 22 characters; any other in as many as it needs.
func packUID(uid types.UID) string {
	if id, err := uuid.Parse(string(uid)); err == nil && id.String() == string(uid) {
		return base64.RawURLEncoding.EncodeToString(id[:])
	}
	return "~" + base64.RawURLEncoding.EncodeToString([]byte(uid))
}

func unpackUID(text string) (types.UID, bool) {
	other, isOther := strings.CutPrefix(text, "~")
	packed, err := base64.RawURLEncoding.DecodeString(other)
	if err == nil && isOther {
		return types.UID(packed), true
	}
	id, wrong := uuid.FromBytes(packed)
	if err != nil || wrong != nil {
		return "", false
	}
	return types.UID(id.String()), true
}
