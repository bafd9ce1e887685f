package program

import (
	"io"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kanon.dev/kanon/rules/celenv"
)

// Input is what an evaluation reads.
type Input struct {
	// Parent is read-only.
	Parent *unstructured.Unstructured
	// Now is the time of the evaluation. Expressions see whole seconds.
	Now time.Time
	// Reader reads the cluster. It may be nil for a rule that has no lookups and does not read observed.
	Reader Reader
	// Finalizing is true while the parent is being deleted, for a rule with spec.finalize.
	Finalizing bool
	// Missing has the kinds of the rule that the cluster lacks, or may lack. Children, patches and lookups of such a
	// kind wait; optional ones are skipped if the kind certainly does not exist. nil: every kind exists.
	Missing map[schema.GroupVersionKind]Absence
	// Random is the source of random(n). nil: random(n) gives asterisks, for an evaluation that writes nothing.
	Random io.Reader
	// Memory is the budget that all evaluations share. nil: no bound.
	Memory Account
}

// Account is the memory that all evaluations share, in bytes: see Evaluation.OutOfMemory. It must have at least
// Limits.ReconcileBytes.
type Account = celenv.Account

// Reader answers from memory what an evaluation reads of the cluster besides the parent. Objects are read-only. An
// error means that the answer is not known now, as while an informer fills: whatever reads it waits.
type Reader interface {
	// Lookup returns the objects that match a query, in any order.
	Lookup(q Query) ([]*unstructured.Unstructured, error)
	// Observed returns the live objects that a child has for the parent, in any order, including those that are being
	// deleted.
	Observed(node string) ([]*unstructured.Unstructured, error)
	// Live returns the live object of a rendered one if it belongs to the parent and is not being deleted; otherwise
	// nil. It is called for children with createWhen, updateWhen, an updatePolicy or a generated field, and for those
	// that wait for a dependency.
	Live(rendered *unstructured.Unstructured) (*unstructured.Unstructured, error)
	// Replaced returns the object that was deleted to be recreated as the rendered one, if the new one keeps its
	// generated values; otherwise nil. It is called if Live returns nil.
	Replaced(rendered *unstructured.Unstructured) *unstructured.Unstructured
	// Outdated reports whether the live object was last applied as something else than is rendered now, whatever others
	// changed since. It is called for children with a rollout, and for those that wait for a dependency.
	Outdated(node string, rendered, live *unstructured.Unstructured) bool
}

// Query selects the objects of a lookup: one by name, or those of a selector.
type Query struct {
	// Lookup is the id.
	Lookup string
	GVK    schema.GroupVersionKind
	Target
}

// Absence is why objects of a kind can neither be read nor written now.
type Absence struct {
	// Certain is true if the cluster has the kind in no version. Otherwise the kind may exist: discovery failed, or
	// another version is served.
	Certain bool
	// Message is for people: "the cluster has no kind Certificate in cert-manager.io/v1".
	Message string
}

// Recreation says whether a live object is recreated.
type Recreation uint8

const (
	// RecreationByPolicy leaves it to the updatePolicy.
	RecreationByPolicy Recreation = iota
	// RecreationDue means that recreateWhen is true: the object is recreated, and left as it is until then.
	RecreationDue
	// RecreationExpired is RecreationDue if recreateWhen was false when the object was created, and became true by the
	// passing of time alone: the rule says how long the object lasts.
	RecreationExpired
	// RecreationForbidden forbids it, because createWhen is not known to allow the new object.
	RecreationForbidden
)

// IsDue reports whether recreateWhen is true.
func (r Recreation) IsDue() bool { return r == RecreationDue || r == RecreationExpired }

// Rendered is a node that can be written now.
type Rendered struct {
	Node string
	// Objects are the objects to bring up to date, in the order of the items. They belong to the caller and share no
	// memory with anything else.
	Objects []*unstructured.Unstructured
	// Kept are rendered objects that must be neither written nor pruned: createWhen prevents their creation, or
	// updateWhen or an updatePolicy of CreateOnly their update.
	Kept []*unstructured.Unstructured
	// Awaiting are the live objects of Kept that are updated or recreated once the node's dependencies are ready.
	Awaiting []Awaiting
	// Postponed are those of Kept, and those of Objects that are recreated, which a rollout leaves as they are until their turn.
	Postponed []*unstructured.Unstructured
	// Guarded is true if an object that the Reader does not know, and that exists all the same, must be left as it is.
	// The next evaluation decides about it.
	Guarded bool
	// Partial is true if items of a forEach are left out because they wait or failed. The node's objects that are not
	// in Objects must not be pruned.
	Partial bool
	// items belong to Objects. generates is true if the node generates fields.
	items     []*item
	generates bool
}

// Awaiting is an object that is updated or recreated once the dependencies of its node are ready.
type Awaiting struct {
	Object *unstructured.Unstructured
	// Recreation says whether it is recreated then.
	Recreation Recreation
}

// Repairs reports whether Objects[i] is written only to undo changes by others: it is rendered as it was last applied,
// and a dependency is not ready. If it turns out not to exist, it must not be created.
func (r *Rendered) Repairs(i int) bool { return r.items[i].awaits }

// KeepsGenerated reports whether the object that replaces Objects[i] after a deletion keeps its generated values. With
// recreateWhen it does not: the rule asks for another object, with other values.
func (r *Rendered) KeepsGenerated(i int) bool { return r.generates && !r.Recreation(i).IsDue() }

// Fresh has the paths in Objects[i] of fields that are generated now, because the live object from the Reader lacks
// them. They may be written only to exactly that version of the object.
func (r *Rendered) Fresh(i int) [][]string { return r.items[i].fresh }

// KeptFields has the paths in Objects[i] of generated fields whose values were copied from the live object from the
// Reader. They must not replace another value.
func (r *Rendered) KeptFields(i int) [][]string { return r.items[i].kept }

// Recreation is that of Objects[i].
func (r *Rendered) Recreation(i int) Recreation { return r.items[i].recreation }

// State is the state of a node after one evaluation.
type State string

const (
	// StateApplied means that every object of the node is up to date.
	StateApplied State = "Applied"
	// StateSkipped means that the node has no object, because its when is false, or because its createWhen is and the
	// object does not exist.
	StateSkipped State = "Skipped"
	// StateWaiting means that the node, or an item of it, reads what does not exist yet.
	StateWaiting State = "Waiting"
	// StateFailed means that the node, or an item of it, cannot be rendered.
	StateFailed State = "Failed"
	// StateNotApplied means that the node was rendered, and could not be brought up to date.
	StateNotApplied State = "NotApplied"
)

// NodeResult is the state of one child.
type NodeResult struct {
	ID    string
	State State
	// Ready is true for an Applied node whose objects are all ready, and for a Skipped one.
	Ready bool
	// Problem says why the node is not Applied, or why it is not ready. Its path is below the
	// child: template.spec.replicas, when, forEach[0].in. Empty when it is the child as a whole.
	Problem
	// Failed is true if an object of the node has failed: as it is, it will not become ready. It is only set for
	// Applied nodes without readyWhen.
	Failed bool
	// Stalled is true if a rollout waits for an object that has failed, or if it is unknown how many may be updated.
	Stalled bool
	// BlocksPrune is true if an object that the node should have is unknown or not up to date. No object of the node may
	// be pruned.
	BlocksPrune bool
}

// Result is the result of an evaluation, after the caller has written what it could.
type Result struct {
	// Nodes, Patches, Conditions and Events are in the order of the rule.
	Nodes      []NodeResult
	Patches    []PatchResult
	Conditions []Condition
	Events     []Event
	// Status is what to write into the parent's status; nil if the rule has no status. A leaf that waits or failed
	// keeps the parent's last value. It belongs to the caller and shares no memory with the parent.
	Status map[string]any
	// KeepStatus is true if the status waits or failed as a whole. Status is nil then, and what was applied before must
	// stay: apply nothing in its place.
	KeepStatus bool
	// StatusWaiting says for each leaf of status that waits what it waits for: "status.url:
	// children.service.spec.clusterIP does not exist yet". It also has the conditions and events that wait, such as
	// conditions[Exposed].message and events[0].when, and requeueAfter, minInterval and deleteWhen.
	StatusWaiting []string
	// StatusFailed are the parts, of the kinds that StatusWaiting names, that cannot be rendered.
	StatusFailed []Problem
	// RequeueAfter and MinInterval are zero for none.
	RequeueAfter, MinInterval time.Duration
	// Finalization is only set with Input.Finalizing.
	Finalization Finalization
	Deletion     Deletion
	// ReevaluateAt is when the rule must be evaluated again because of now alone: the first time, in whole seconds UTC, at
	// which a comparison with now, or a function of it, gives another value. Zero: never.
	ReevaluateAt time.Time
}

// PatchResult is the state of one patch after an evaluation.
type PatchResult struct {
	ID string
	// State is StateApplied where all that the patch sets is known, else
	// StateSkipped, StateWaiting or StateFailed.
	State State
	// Problem says why it is not Applied. It is empty if the patch is skipped because of its when or its forEach.
	Problem
	// Contributions are what to set where, in the order of the items.
	Contributions []Contribution
	// Unknown is true if the targets of an item are unknown. What the parent contributed to any object before must
	// stay.
	Unknown bool
}

// Contribution is what one item of a patch sets in one object, or in every object that a selector matches.
type Contribution struct {
	Target Target
	// Object has apiVersion, kind and the fields to set, and no name. It belongs to the caller. It is nil if the fields
	// are not known now: what the parent contributed there before must stay.
	Object *unstructured.Unstructured
}

// Target selects the objects of a lookup, or those that a contribution changes.
type Target struct {
	// Namespace is empty for a cluster-scoped kind, and with AllNamespaces.
	Namespace     string
	AllNamespaces bool
	// Name selects one object. Empty: every object that Selector matches.
	Name     string
	Selector labels.Selector
}

// Selects reports whether an object of the kind is selected.
func (t Target) Selects(object *unstructured.Unstructured) bool {
	switch {
	case !t.AllNamespaces && t.Namespace != object.GetNamespace():
		return false
	case t.Name != "":
		return t.Name == object.GetName()
	}
	return t.Selector == nil || t.Selector.Matches(labels.Set(object.GetLabels()))
}

// Deletion says whether a rule wants its parent deleted.
type Deletion uint8

const (
	// DeletionOff means that it does not, or that the rule has no deleteWhen.
	DeletionOff Deletion = iota
	// DeletionUnknown means that deleteWhen waits or failed.
	DeletionUnknown
	// DeletionOn means that it does.
	DeletionOn
)

// Finalization is the progress of the cleanup of a parent that is being deleted.
type Finalization struct {
	// Done is true if only the deletion of the children is left to do.
	Done bool
	// Waits is why the cleanup is not done. Failed is true if that will not change before the rule or what it reads
	// does.
	Waits  string
	Failed bool
	// Timeout is how long the cleanup may take; zero: forever.
	Timeout time.Duration
}

// note records why a part of the rule that is no child has no value. A part that reads a skipped child is silently left
// out.
func (o *Result) note(p *Problem) {
	switch p.Verdict {
	case Waits:
		o.StatusWaiting = append(o.StatusWaiting, p.Error())
	case Fails:
		o.StatusFailed = append(o.StatusFailed, *p)
	case Skips:
	}
}
