package program

import (
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"

	"kanon.dev/kanon/rules/program/parentstatus"
	"kanon.dev/kanon/rules/program/template"
)

// Renewal says whether an object that is there is to be deleted and created again.
type Renewal uint8

const (
	// RenewalByPolicy means that the updatePolicy of its node says so, or does not.
	RenewalByPolicy Renewal = iota
	// RenewalDue means that it is, because its recreateWhen is true. Until then it is left
	// as it is.
	RenewalDue
	// RenewalExpired is RenewalDue of an object of which recreateWhen was false when it was
	// created, and has become true by the passing of time alone: the rule says how long it lasts.
	RenewalExpired
	// RenewalBarred means that it must not be, because its createWhen is not known to
	// allow for the new one.
	RenewalBarred
)

// IsDue says whether recreateWhen is true.
func (r Renewal) IsDue() bool { return r == RenewalDue || r == RenewalExpired }

// Rendered is a node that can be written now.
type Rendered struct {
	Node string
	// Objects are the objects to bring up to date, in the order of the items.
	// They are the caller's: they share no memory with anything else.
	Objects []*unstructured.Unstructured
	// Kept are rendered objects that are neither to be written nor to be pruned:
	// createWhen keeps them from being made, or updateWhen, or an updatePolicy
	// CreateOnly, from being changed.
	Kept []*unstructured.Unstructured
	// Awaiting are those of Kept that exist and are to be changed, or recreated, once what the node depends on is ready.
	Awaiting []Awaiting
	// Held are those of Kept, and of Objects that are to be created again, which a rollout
	// leaves as they are for now.
	Held []*unstructured.Unstructured
	// Guarded is true where an object of Objects that is not there as far as the
	// Reader knows, and is there after all, must be left as it is: the next evaluation
	// decides about it.
	Guarded bool
	// Partial is true where items of a forEach are left out because they wait
	// or failed: the node's objects that are not in Objects must not be pruned.
	Partial bool
	// items are those of Objects, and generates is true where the node generates fields.
	items     []*item
	generates bool
}

// Awaiting is an object that is to be changed once what its node depends on is ready.
type Awaiting struct {
	Object *unstructured.Unstructured
	// Renewal says whether it is to be recreated then.
	Renewal Renewal
}

// Repairs says whether one of Objects, by its index, is only to be repaired where others changed it: it is rendered as it was
// when it was last applied, and what it depends on is not ready. If it turns out not to exist, it must not be created.
func (r *Rendered) Repairs(i int) bool { return r.items[i].awaits }

// KeepsGenerated says whether the object that is created in place of one of Objects, by its index, after that was deleted, has its
// generated values. recreateWhen asks for another object, and so for other values.
func (r *Rendered) KeepsGenerated(i int) bool { return r.generates && !r.Renewal(i).IsDue() }

// Fresh are the paths in one of Objects, by its index, of fields that were generated because the
// live object that the Reader gave lacks them: they may be written to exactly that version of it.
func (r *Rendered) Fresh(i int) [][]string { return r.items[i].fresh }

// Renewal says whether one of Objects, by its index, is to be deleted and created again.
func (r *Rendered) Renewal(i int) Renewal { return r.items[i].renewal }

// State says what became of a node in one evaluation.
type State string

const (
	// StateApplied means that every object of the node is up to date.
	StateApplied State = "Applied"
	// StateSkipped means that the node's when is false, or that its createWhen is
	// and there is no object: it has none.
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
	// Problem says why the node is not Applied, or why it is not ready. Its path is below the
	// child: template.spec.replicas, when, forEach[0].in. Empty when it is the child as a whole.
	Problem
	// Failed is true where an object of a node that is not ready has failed: as it is, it
	// does not become ready. It is for a node that is Applied and has no readyWhen.
	Failed bool
	// Stalled is true where a rollout waits for an object that has failed, or does not
	// know how many may be updated.
	Stalled bool
	// HoldPrune is true where not every object that the node should have is
	// known or up to date: no object that the node made may be pruned.
	HoldPrune bool
}

// Problem is a place in a rule and what is the matter there.
type Problem struct {
	Path string
	// Message stays the same as long as the cause does.
	Message string
	// Advice is what the author of the rule can do about it; may be empty.
	Advice string
	// KindMissing is true where a kind is missing: that of a child, a patch, or a lookup that it reads.
	KindMissing bool
}

func problemOf(p *template.Problem) Problem {
	return Problem{Path: p.Path, Message: p.Message, Advice: p.Advice, KindMissing: p.KindMissing}
}

// Text is the message with the advice.
func (p Problem) Text() string { return template.WithAdvice(p.Message, p.Advice) }

// Outcome is the result of an evaluation after all that could be written was.
type Outcome struct {
	// Nodes are in the order of spec.children.
	Nodes []NodeOutcome
	// Patches are in the order of spec.patches.
	Patches []PatchOutcome
	// Status is what the parent's status should say, nil where the rule has
	// no status. A leaf that waits or failed holds the parent's last value.
	// It is the caller's and shares no memory with the parent.
	Status map[string]any
	// StatusHeld is true where the status waits or failed as a whole: Status is
	// nil then, what was applied before must stay, and so nothing may be applied
	// in its place.
	StatusHeld bool
	// StatusWaiting says for each leaf of status that waits what it waits for:
	// "status.url: children.service.spec.clusterIP is not there yet". It has the
	// conditions and events that wait as well, such as conditions[Exposed].message
	// and events[0].when, and requeueAfter, minInterval and deleteWhen.
	StatusWaiting []string
	// StatusFailed are the leaves of status, and the places of the other parts that
	// StatusWaiting has, that cannot be rendered.
	StatusFailed []Problem
	// Conditions are those of spec.conditions, in order.
	Conditions []parentstatus.Condition
	// Events has one item for each of spec.events, in order.
	Events []parentstatus.Event
	// RequeueAfter is what spec.requeueAfter says; zero: nothing.
	RequeueAfter time.Duration
	// MinInterval is the least time between the starts of two reconciles of the
	// parent; zero: none.
	MinInterval time.Duration
	// Finalization is set with Input.Finalizing only.
	Finalization Finalization
	// Deletion says whether the parent is to be deleted.
	Deletion Deletion
	// WakeAt is when the rule must be evaluated again because of now alone: the
	// first time, in whole seconds UTC, at which a comparison with now, or a
	// function of it, gives something else. Zero: never.
	WakeAt time.Time
}

// PatchOutcome is what became of one patch in an evaluation.
type PatchOutcome struct {
	ID string
	// State is StateApplied where all that the patch sets is known, else
	// StateSkipped, StateWaiting or StateFailed.
	State State
	// Problem says why it is not Applied.
	Problem
	// Contributions say what is to be set where, in the order of the items.
	Contributions []Contribution
	// Unknown is true where it is not known of all items which objects they are for:
	// what the parent contributed to any object before must stay.
	Unknown bool
}

// Contribution is what one item of a patch sets in one object, or in all that a
// selector selects.
type Contribution struct {
	Target Target
	// Object holds apiVersion, kind and the fields to set, and nothing that names
	// an object. It is the caller's. It is nil where the fields are not known now:
	// what the parent contributed there before must stay.
	Object *unstructured.Unstructured
}

// Target names the objects that a lookup reads, or that a contribution is for.
type Target struct {
	// Namespace is empty for a cluster-scoped kind, and with AllNamespaces.
	Namespace     string
	AllNamespaces bool
	// Name names one object. Empty: all that Selector selects.
	Name     string
	Selector labels.Selector
}

// Deletion says whether a rule wants its parent deleted.
type Deletion uint8

const (
	// DeletionOff means that it does not.
	DeletionOff Deletion = iota
	// DeletionUnknown means that deleteWhen waits or failed.
	DeletionUnknown
	// DeletionOn means that it does.
	DeletionOn
)

// Finalization says how far a rule has come with a parent that is being deleted.
type Finalization struct {
	// Done is true where nothing is left to do but to end the children.
	Done bool
	// Waits says why it is not done; Failed is true where that will not change before the
	// rule or what it reads does.
	Waits  string
	Failed bool
	// Timeout is how long it may take; zero: for ever.
	Timeout time.Duration
}

// note keeps why a part that is no child has no value. What belongs to a skipped
// child is left out without a word.
func (o *Outcome) note(p *template.Problem) {
	switch p.Verdict {
	case template.Waits:
		o.StatusWaiting = append(o.StatusWaiting, p.Error())
	case template.Fails:
		o.StatusFailed = append(o.StatusFailed, problemOf(p))
	case template.Skips:
	}
}
