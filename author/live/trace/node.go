package trace

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// Role is what an object is in a tree.
type Role string

// The roles.
const (
	// Parent is the object that was asked for, if a rule selects it.
	Parent Role = "parent"
	// Child is an object that a rule creates for its parent. It may be the parent of another rule.
	Child Role = "child"
	// Owned is an object that Kanon does not manage. Its owner references place it in the tree.
	Owned Role = "owned"
	// Lookup is an object, or a list of objects, that a rule reads.
	Lookup Role = "lookup"
	// Patch is an object in which a rule sets fields.
	Patch Role = "patch"
)

// State is the state of an object.
type State string

// The states.
const (
	Ready State = "Ready"
	// NotReady: the object exists, and is expected to become ready by itself.
	NotReady State = "NotReady"
	// Failed: somebody has to act.
	Failed State = "Failed"
	// Waiting: the rule reads something that does not exist yet.
	Waiting State = "Waiting"
	// Missing: the rule renders or reads the object, and it does not exist.
	Missing State = "Missing"
	// Refused: another object already has the name.
	Refused State = "Refused"
	// Skipped: the rule does not want the object now.
	Skipped State = "Skipped"
	// Obsolete: the rule no longer renders the object.
	Obsolete State = "Obsolete"
	// Terminating: the object is being deleted.
	Terminating State = "Terminating"
	// Found is the good state of a lookup, and Applied that of a patch. NotApplied: the fields of a patch have other
	// values.
	Found      State = "Found"
	Applied    State = "Applied"
	NotApplied State = "NotApplied"
	// Unknown: the state cannot be determined.
	Unknown State = "Unknown"
)

// IsGood reports whether there is nothing to do or to wait for.
func (s State) IsGood() bool {
	return s == Ready || s == Skipped || s == Found || s == Applied
}

// IsBad reports whether somebody has to act.
func (s State) IsBad() bool { return s == Failed || s == Refused }

// Node is an object in a tree, or a place in the rule that has no object yet.
type Node struct {
	Role       Role   `json:"role"`
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Namespace  string `json:"namespace,omitempty"`
	// Name is empty if it is not known.
	Name string    `json:"name,omitempty"`
	UID  types.UID `json:"uid,omitempty"`
	// Selector is that of a lookup or a patch without a name.
	Selector string `json:"selector,omitempty"`
	// Rule is the rule of a child, lookup or patch, and ID its id in that rule. Rule is empty for a parent.
	Rule string `json:"rule,omitempty"`
	ID   string `json:"id,omitempty"`
	// Rules are the rules that select the object as a parent.
	Rules []string `json:"rules,omitempty"`
	State State    `json:"state"`
	// Created is when the object was created; zero if it does not exist.
	Created time.Time `json:"created,omitzero"`
	// Notes give the reasons, the most important first.
	Notes    []Note  `json:"notes,omitempty"`
	Children []*Node `json:"children,omitempty"`
}

// Source is where a note comes from.
type Source string

// The sources.
const (
	// FromRule: the evaluation of the rule.
	FromRule Source = "rule"
	// FromCondition: a condition of the object.
	FromCondition Source = "condition"
	// FromStatus: the metadata or the status of the object.
	FromStatus Source = "status"
	// FromEvent: an Event about the object.
	FromEvent Source = "event"
)

// Note is a reason for the state of an object.
type Note struct {
	Source Source `json:"source"`
	// Path is the place in the rule, such as children.web.template.spec.replicas, or the subject of the note.
	Path string `json:"path,omitempty"`
	Text string `json:"text"`
	// Since is when a condition last changed, or when an Event last occurred.
	Since time.Time `json:"since,omitzero"`
	// Count is how often an Event occurred.
	Count int64 `json:"count,omitempty"`
	// reporter is the reporting component of an Event.
	reporter string
}

func (n *Node) note(source Source, path, text string) {
	if text == "" || slices.ContainsFunc(n.Notes, func(other Note) bool { return other.Path == path && other.Text == text }) {
		return
	}
	n.Notes = append(n.Notes, Note{Source: source, Path: path, Text: text})
}

// nodeOf makes a node for an object. It has no state yet.
func nodeOf(role Role, object *unstructured.Unstructured) *Node {
	return &Node{
		Role: role, APIVersion: object.GetAPIVersion(), Kind: object.GetKind(), Namespace: object.GetNamespace(), Name: object.GetName(),
		UID: object.GetUID(), Created: object.GetCreationTimestamp().UTC(),
	}
}

// nodeOfKind makes a node for an object of which only the kind is known.
func nodeOfKind(role Role, gvk schema.GroupVersionKind) *Node {
	return &Node{Role: role, APIVersion: gvk.GroupVersion().String(), Kind: gvk.Kind}
}

// of sets the rule, and the id in it, to which a node belongs.
func (n *Node) of(rule, id string) *Node {
	n.Rule, n.ID = rule, id
	return n
}

// in sets the state.
func (n *Node) in(state State) *Node {
	n.State = state
	return n
}

// All lists the node and all nodes below it, from the top.
func (n *Node) All() []*Node {
	all := []*Node{n}
	for _, child := range n.Children {
		all = append(all, child.All()...)
	}
	return all
}

func (n *Node) groupKind() schema.GroupKind {
	return schema.FromAPIVersionAndKind(n.APIVersion, n.Kind).GroupKind()
}
