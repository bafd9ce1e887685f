package mark

import (
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
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
// once more. Raise record.Format with it: a version that does not know the mark then leaves the rule alone.
const markVersion = "2"

// How many characters the hashes of a mark have, of 22 that hashOf gives. They tell one write of a child from the next, and
// nobody gains by two that are alike.
const (
	ValueSize = 16
	PathsSize = 12
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

// Mark is what AnnotationApplied holds.
type Mark struct {
	flags  string
	uid    types.UID
	parent string // see parentHash
	seal   string
	Fingerprint
	node string
}

// markFields is how many fields the text of a mark has.
const markFields = 8

// String is the annotation's text. The node is last because it is the author's.
func (m Mark) String() string {
	return strings.Join([]string{
		markVersion + m.flags, packUID(m.uid), m.parent, m.seal, m.Value, m.Paths, m.Content, m.node,
	}, ".")
}

// ParseMark reads the annotation's text; false for any that String does not write.
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

// SameClaim reports whether two marks differ in nothing but hashes.
func (m Mark) SameClaim(other Mark) bool {
	m.Fingerprint, other.Fingerprint = Fingerprint{}, Fingerprint{}
	return m == other
}

// isTracked reports whether the child carries no owner reference to its parent, and was not meant to.
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
func (m Mark) statement(ruleID string, child Ref, owner string) string {
	return strings.Join([]string{
		"child", ruleID, string(m.uid), m.parent, m.flags, m.node, child.Group, child.Kind, child.Namespace, child.Name, strings.ReplaceAll(owner, separator, " "),
	}, separator)
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
