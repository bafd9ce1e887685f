package rules

import (
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Parent says which objects a rule reconciles.
type Parent struct {
	GVK schema.GroupVersionKind
	// Selector selects by labels of the parent. nil: all.
	Selector labels.Selector
	// Namespaces limits the namespaces by name. Empty: all.
	Namespaces []string
	// NamespaceSelector selects by labels of the parent's Namespace. nil: all.
	NamespaceSelector labels.Selector
	// Namespaced is what Options.Kinds said of the kind; true without Kinds.
	Namespaced bool
}

// Child describes one node of spec.children.
type Child struct {
	ID       string
	GVK      schema.GroupVersionKind
	Position Position
	// ForEach is true where the node makes a list of objects.
	ForEach bool
	// Namespaced is what Options.Kinds said of the kind; true without Kinds.
	Namespaced bool
}

// Input is what one evaluation starts from.
type Input struct {
	// Parent is only read.
	Parent *unstructured.Unstructured
	// Now is the time of the evaluation; expressions see it in whole seconds.
	Now time.Time
}

// Rendered is a node that can be written now.
type Rendered struct {
	Node string
	// Objects are the objects to bring up to date, in the order of the items.
	// They are the caller's: they share no memory with anything else.
	Objects []*unstructured.Unstructured
	// Partial is true where items of a forEach are left out because they wait
	// or failed: the node's objects that are not in Objects must not be pruned.
	Partial bool
}

// State says what became of a node in one evaluation.
type State string

const (
	// StateApplied means that every object of the node is up to date.
	StateApplied State = "Applied"
	// StateSkipped means that the node's when is false: it has no objects.
	StateSkipped State = "Skipped"
	// StateWaiting means that the node, or an item of it, reads what is not there yet.
	StateWaiting State = "Waiting"
	// StateFailed means that the node, or an item of it, cannot be rendered as it stands.
	StateFailed State = "Failed"
	// StateNotApplied means that the node was rendered and could not be brought up to date.
	StateNotApplied State = "NotApplied"
)

// NodeOutcome is what became of one child.
type NodeOutcome struct {
	ID    string
	State State
	// Ready is true for a node that is Applied and whose objects are all
	// ready, and for one that is Skipped.
	Ready bool
	// Path is the place in the rule that Message speaks of, below the child:
	// template.spec.replicas, when, forEach[0].in. Empty when it is the child as a whole.
	Path string
	// Message says why the node is not Applied, or why it is not ready. It
	// stays the same as long as the cause does.
	Message string
	// HoldPrune is true where not every object that the node should have is
	// known or up to date: no object that the node made may be pruned.
	HoldPrune bool
}

// Problem is a place in a rule and what is the matter there.
type Problem struct {
	Path    string
	Message string
}

// Outcome is the result of an evaluation after all that could be written was.
type Outcome struct {
	// Nodes are in the order of spec.children.
	Nodes []NodeOutcome
	// Status is what the parent's status should say, nil where the rule has
	// no status. A leaf that waits or failed holds the parent's last value.
	// It is the caller's and shares no memory with the parent.
	Status map[string]any
	// StatusHeld is true where the status waits or failed as a whole: Status is
	// nil then, what was applied before must stay, and so nothing may be applied
	// in its place.
	StatusHeld bool
	// StatusWaiting says for each leaf of status that waits what it waits for:
	// "status.url: children.service.spec.clusterIP is not there yet".
	StatusWaiting []string
	// StatusFailed are the leaves of status that cannot be rendered.
	StatusFailed []Problem
	// WakeAt is when the rule must be evaluated again because of now alone: the
	// first time, in whole seconds UTC, at which a comparison with now, or a
	// function of it, gives something else. Zero: never.
	WakeAt time.Time
}
