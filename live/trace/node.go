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
	// Parent is the object that was asked for, if a rule is for it.
	Parent Role = "parent"
	// Child is an object that a rule creates for its parent. It may be the parent of another rule.
	Child Role = "child"
	// Owned is an object that is not Kanon's: its owner references say where it belongs.
	Owned Role = "owned"
	// Lookup is an object, or a list of objects, that a rule reads.
	Lookup Role = "lookup"
	// Patch is an object in which a rule sets fields.
	Patch Role = "patch"
)

// State is how an object fares.
type State string

// The states.
const (
	Ready State = "Ready"
	// NotReady: the object exists and will be ready without anybody's help, as far as is known.
	NotReady State = "NotReady"
	// Failed: somebody has to do something.
	Failed State = "Failed"
	// Waiting: the rule reads what does not exist yet.
	Waiting State = "Waiting"
	// Missing: the rule renders or reads the object, and it does not exist.
	Missing State = "Missing"
	// Refused: something else has the name of the object.
	Refused State = "Refused"
	// Skipped: the rule does not want the object now.
	Skipped State = "Skipped"
	// Obsolete: the rule no longer renders the object.
	Obsolete State = "Obsolete"
	// Terminating: the object is being deleted.
	Terminating State = "Terminating"
	// Found is Ready of a lookup, and Applied of a patch. NotApplied: the fields of a patch have other values.
	Found      State = "Found"
	Applied    State = "Applied"
	NotApplied State = "NotApplied"
	// Unknown: it cannot be said.
	Unknown State = "Unknown"
)

// IsGood reports whether nothing is to be done or waited for.
func (s State) IsGood() bool {
	return s == Ready || s == Skipped || s == Found || s == Applied
}

// IsBad reports whether somebody has to do something.
func (s State) IsBad() bool { return s == Failed || s == Refused }

// Node is an object in a tree, or what a rule would create.
type Node struct {
	Role       Role   `json:"role"`
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Namespace  string `json:"namespace,omitempty"`
	// Name is empty if no name is known.
	Name string    `json:"name,omitempty"`
	UID  types.UID `json:"uid,omitempty"`
	// Selector selects the objects of a lookup or a patch that has no name.
	Selector string `json:"selector,omitempty"`
	// Rule is the rule to which a child, lookup or patch belongs, and ID what the rule calls it. Of a parent, Rule is empty.
	Rule string `json:"rule,omitempty"`
	ID   string `json:"id,omitempty"`
	// Rules are those that are for the object.
	Rules []string `json:"rules,omitempty"`
	State State    `json:"state"`
	// Created is when the object was created; zero if it does not exist.
	Created time.Time `json:"created,omitzero"`
	// Notes say why, the most telling first.
	Notes    []Note  `json:"notes,omitempty"`
	Children []*Node `json:"children,omitempty"`
}

// Source is where a note comes from.
type Source string

// The sources.
const (
	// FromRule: the evaluation of the rule says so.
	FromRule Source = "rule"
	// FromCondition: a condition of the object says so.
	FromCondition Source = "condition"
	// FromStatus: the status of the object says so.
	FromStatus Source = "status"
	// FromEvent: an Event about the object says so.
	FromEvent Source = "event"
)

// Note says why an object is as it is.
type Note struct {
	Source Source `json:"source"`
	// Path is the place in the rule, such as children.web.template.spec.replicas, or what the note is about.
	Path string `json:"path,omitempty"`
	Text string `json:"text"`
	// Since is when a condition changed, or an Event came last.
	Since time.Time `json:"since,omitzero"`
	// Count is how often an Event came.
	Count int64 `json:"count,omitempty"`
	// reporter of an Event.
	reporter string
}

func (n *Node) note(source Source, path, text string) {
	if text == "" || slices.ContainsFunc(n.Notes, func(other Note) bool { return other.Path == path && other.Text == text }) {
		return
	}
	n.Notes = append(n.Notes, Note{Source: source, Path: path, Text: text})
}

// nodeOf is a node for an object. It has no state yet.
func nodeOf(role Role, object *unstructured.Unstructured) *Node {
	return &Node{
		Role: role, APIVersion: object.GetAPIVersion(), Kind: object.GetKind(), Namespace: object.GetNamespace(), Name: object.GetName(),
		UID: object.GetUID(), Created: object.GetCreationTimestamp().UTC(),
	}
}

// nodeOfKind is a node for an object of which no more than the kind is known.
func nodeOfKind(role Role, gvk schema.GroupVersionKind) *Node {
	return &Node{Role: role, APIVersion: gvk.GroupVersion().String(), Kind: gvk.Kind}
}

// of says to which part of which rule a node belongs.
func (n *Node) of(rule, id string) *Node {
	n.Rule, n.ID = rule, id
	return n
}

// in gives a node its state.
func (n *Node) in(state State) *Node {
	n.State = state
	return n
}

// All lists the node and all below it, from the top.
func (n *Node) All() []*Node {
	all := []*Node{n}
	for _, child := range n.Children {
		all = append(all, child.All()...)
	}
	return all
}

// groupKind is the kind without a version.
func (n *Node) groupKind() schema.GroupKind {
	return schema.FromAPIVersionAndKind(n.APIVersion, n.Kind).GroupKind()
}

// key is the same for one node in two trees of the same object.
func (n *Node) key() string {
	name := n.Name
	if name == "" {
		name = n.Selector
	}
	return string(n.Role) + "\n" + n.Rule + "\n" + n.ID + "\n" + n.groupKind().String() + "\n" + n.Namespace + "\n" + name
}
