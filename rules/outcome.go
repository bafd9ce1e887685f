package rules

import (
	"io"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kanon.dev/kanon/rules/celenv/run"
	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/syntax"
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
	Position diagnostic.Position
	// ForEach is true where the node makes a list of objects.
	ForEach bool
	// Namespaced is what Options.Kinds said of the kind; true without Kinds.
	Namespaced bool
	// Elsewhere is true where the template names a namespace, which may be another
	// than the parent's.
	Elsewhere bool
	// Optional says that the node is skipped while the cluster does not have its kind.
	Optional bool
	// Unresolved is true where the kind was missing when the rule was compiled: whether
	// it is namespaced is not known.
	Unresolved bool
	// Conditional is true for a node that has a when.
	Conditional bool
	// Cleanup is true for a node of spec.finalize, which has objects only while the
	// parent is being deleted.
	Cleanup bool
	// Adopt says whether the node may take over an object that is there already, if
	// nobody else claims it.
	Adopt bool
	// Ignore are the fields that are set when an object is made, and left to others
	// from then on, whatever holds: Evaluation.Ignores has more. They are read-only.
	Ignore []syntax.IgnoredPath
	// Read is false where nothing depends on more of its live objects than that they
	// are there: no expression reads them, and whether they are ready does not show in
	// their content.
	Read bool
	// UpdatePolicy says how its objects are changed.
	UpdatePolicy syntax.UpdatePolicy
	// Rollout is true where its objects are updated a few at a time, and Ordered where
	// they are made, and removed, one after the other as well.
	Rollout, Ordered bool
	// Ending says what becomes of its objects; empty where only an expression knows,
	// whose value Evaluation.Ending has.
	Ending Ending
}

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

// Input is what one evaluation starts from.
type Input struct {
	// Parent is only read.
	Parent *unstructured.Unstructured
	// Now is the time of the evaluation; expressions see it in whole seconds.
	Now time.Time
	// Reader answers what the rule looks up. It may be nil for a rule without
	// lookups that reads no observed.
	Reader Reader
	// Finalizing is true while the parent is being deleted, for a rule with
	// spec.finalize.
	Finalizing bool
	// Missing has the kinds of the rule that the cluster does not have, or may not have.
	// Children, patches and lookups of such a kind wait; optional ones are skipped where
	// that is certain. nil: every kind exists.
	Missing map[schema.GroupVersionKind]Absence
	// Random gives the bytes that random(n) is made of. nil: it gives asterisks, for
	// an evaluation of which nothing is written.
	Random io.Reader
	// Memory is what all evaluations hold together. nil: there is no bound for that.
	Memory Account
}

// Account is the memory that all evaluations share, in bytes: see Evaluation.Starved.
// *semaphore.Weighted of golang.org/x/sync implements it. It must have as much as
// Limits.ReconcileBytes at the least.
type Account = run.Account

// Reader answers from memory what an evaluation reads of the cluster besides
// the parent. Objects are only read.
type Reader interface {
	// Lookup gives the objects that a query is about, in any order; none where
	// there are none. The error says why that is not known now, as while an
	// informer fills: what reads the lookup waits.
	Lookup(q Query) ([]*unstructured.Unstructured, error)
	// Observed gives the live objects that a node of spec.children made for the
	// parent, in any order, those that are being deleted too. The error is as that
	// of Lookup.
	Observed(node string) ([]*unstructured.Unstructured, error)
	// Live gives the live object that a rendered one names, where it belongs to the
	// parent and is not being deleted, and nil otherwise. It is asked of children
	// with createWhen, updateWhen, an updatePolicy or a generated field only. The error is as that of Lookup.
	Live(rendered *unstructured.Unstructured) (*unstructured.Unstructured, error)
	// Replaced gives the object that was deleted to be recreated as the rendered one, if that keeps
	// its generated values; else nil. It is asked where Live gives none.
	Replaced(rendered *unstructured.Unstructured) *unstructured.Unstructured
	// Outdated says whether a node's live object was last applied as something else
	// than is rendered, whatever others changed in it since. It is asked of children
	// with a rollout only.
	Outdated(node string, rendered, live *unstructured.Unstructured) bool
}

// Query names objects that a lookup reads: one by its name, or those of a
// selector.
type Query struct {
	// Lookup is the id.
	Lookup string
	GVK    schema.GroupVersionKind
	// Namespace is empty for a cluster-scoped kind, and with AllNamespaces.
	Namespace     string
	AllNamespaces bool
	// Name names one object. Empty: all that Selector selects.
	Name     string
	Selector labels.Selector
}

// Lookup describes one node of spec.lookups.
type Lookup struct {
	ID       string
	GVK      schema.GroupVersionKind
	Position diagnostic.Position
	// Namespaced is what Options.Kinds said of the kind; true without Kinds.
	Namespaced bool
	// Namespace is where all objects of the lookup are, as far as the rule says so
	// without an expression. Empty: in the parent's, in several, or nowhere.
	Namespace string
	// Selector is the lookup's where it holds no expression, else nil.
	Selector labels.Selector
	// Unresolved is true where the kind was missing when the rule was compiled: whether
	// it is namespaced is not known.
	Unresolved bool
}

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
	// renewals are those of Objects; nil where the node asks for none.
	renewals []Renewal
	// fresh are those of Objects; nil where the node generates nothing.
	fresh [][][]string
}

// Generates says whether the objects have fields that are generated once.
func (r *Rendered) Generates() bool { return r.fresh != nil }

// Fresh are the paths in one of Objects, by its index, of fields that were generated because the
// live object that the Reader gave lacks them: they may be written to exactly that version of it.
func (r *Rendered) Fresh(i int) [][]string {
	if r.fresh == nil {
		return nil
	}
	return r.fresh[i]
}

// Renewal says whether one of Objects, by its index, is to be deleted and created again.
func (r *Rendered) Renewal(i int) Renewal {
	if r.renewals == nil {
		return RenewalByPolicy
	}
	return r.renewals[i]
}

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
	// Path is the place in the rule that Message speaks of, below the child:
	// template.spec.replicas, when, forEach[0].in. Empty when it is the child as a whole.
	Path string
	// Message says why the node is not Applied, or why it is not ready. It
	// stays the same as long as the cause does.
	Message string
	// Advice is what the author of the rule can do about it; may be empty.
	Advice string
	// KindMissing is true where the node waits because a kind is missing: its own, or
	// that of a lookup that it reads.
	KindMissing bool
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

// Text is the message with the advice.
func (o NodeOutcome) Text() string { return withAdvice(o.Message, o.Advice) }

// Problem is a place in a rule and what is the matter there.
type Problem struct {
	Path    string
	Message string
	// Advice is what the author of the rule can do about it; may be empty.
	Advice string
}

// Text is the message with the advice.
func (p Problem) Text() string { return withAdvice(p.Message, p.Advice) }

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
	Conditions []Condition
	// Events has one item for each of spec.events, in order.
	Events []Event
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

// Condition is one condition that the rule says of its parent.
type Condition struct {
	Type    string
	Status  string // True, False or Unknown
	Reason  string
	Message string
	// Held is true where the condition waits or failed: what the parent has of
	// that type stays, and the other fields are empty.
	Held bool
}

// EventState says whether an event's when holds.
type EventState uint8

const (
	// EventUnknown means that the event waits or failed: it counts as it did before.
	EventUnknown EventState = iota
	// EventOff means that when is false.
	EventOff
	// EventOn means that when is true, or not there.
	EventOn
)

// Event is one item of spec.events.
type Event struct {
	State EventState
	// Type is Normal or Warning. Type, Reason and Message are set with EventOn.
	Type, Reason, Message string
}
