package program

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kanon.dev/kanon/rules/celenv"
	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/flow"
	"kanon.dev/kanon/rules/syntax"
)

// TenantServiceAccount is the ServiceAccount of a rule that is confined to its namespace and names none.
const TenantServiceAccount = "kanon-tenant"

// Program is a compiled rule. The compiler fills it in; afterwards it is read-only and safe for concurrent use.
type Program struct {
	// Name, Namespace, which may be empty, and what follows are those of the rule. Hash identifies its content by 16 hex
	// digits. Without a ServiceAccountName, the rule acts as Kanon itself.
	Name, Namespace, Hash, ConditionPrefix, ServiceAccountName string
	AllowPrivileged, Suspend                                   bool
	// Confined is true if the rule must not reach beyond its namespace.
	Confined  bool
	Parent    Parent
	Variables map[string]*Variable
	// Lookups, Children and Patches are in the order of the rule.
	Lookups    []*Lookup
	LookupByID map[string]*Lookup
	Children   []*Child
	// Order has the indices of Children, each after those that it needs. ByID has the index of each child.
	Order   []int
	ByID    map[string]int
	Patches []*Patch
	// Status is nil if the rule writes no status.
	Status     Template
	Conditions []ConditionTemplate
	Events     []EventTemplate
	// RequeueAfter, MinInterval, Finalize and DeleteWhen are nil if the rule has none.
	RequeueAfter, MinInterval *Duration
	Finalize                  *Finalize
	DeleteWhen                *Expression
	OnRuleDeletion            syntax.RuleDeletion
	PruneLimit                int
	Limits                    *Limits

	// ReadsStatus is true if an expression reads the parent's own status, directly or through a lookup. The rule must
	// then not be evaluated on a copy that is older than the last write.
	ReadsStatus bool
	// ReadsVersion is true if an expression reads what each write of the parent changes in its metadata.
	ReadsVersion bool
	// Drifts is true if something that the rule renders changes with every second, which only spec.requeueAfter
	// permits.
	Drifts bool
	// Meant is true if a schema turns text in an expression into a time or a duration, or a number into a double.
	// Without the schema, the rule would render something else.
	Meant bool
	// HasSecrets is true if the parent, a lookup, a child or the target of a patch is a Secret. Messages about an
	// evaluation then have no values, and what others report of its objects, such as the API server, must not be passed
	// on with values either.
	HasSecrets bool
	// HidesNames is true if a child, or the target of a patch, is Private, so that people are told of its node instead of its
	// name. HidesKeys is true if one of them has PrivateKeys.
	HidesNames, HidesKeys bool
	// StatusKinds are the custom kinds of the rule that have a status. An object of such a kind is not ready before its
	// status is set.
	StatusKinds celenv.StatusKinds
}

// ConditionTypes lists the types of spec.conditions in the order of the rule.
func (p *Program) ConditionTypes() []string {
	names := make([]string, len(p.Conditions))
	for i := range p.Conditions {
		names[i] = p.Conditions[i].Type
	}
	return names
}

// Rank is the length of the chain of nodes that must exist before a node; -1 if the rule has no such node.
func (p *Program) Rank(node string) int {
	i, ok := p.ByID[node]
	if !ok {
		return -1
	}
	return p.Children[i].Rank
}

// Parent selects the objects that a rule reconciles.
type Parent struct {
	GVK schema.GroupVersionKind
	// Selector and NamespaceSelector, which is for labels of the parent's Namespace, are nil for all. So is Namespaces.
	Selector, NamespaceSelector labels.Selector
	Namespaces                  []string
	// Namespaced is what the compiler's Kinds know; true without Kinds.
	Namespaced bool
	// When is nil if it is always true.
	When *Expression
}

// Body is what children, lookups and patches have in common: when they exist, and for which items.
type Body struct {
	// When is nil if it is always true.
	When      *Expression
	ForEach   []Dimension
	Variables map[string]*Variable
}

// Dimension is one dimension of a forEach.
type Dimension struct {
	Name string
	In   Template
	// Path is the position of In, for messages.
	Path string
}

// Variable is a variable of the rule or of a Body.
type Variable struct {
	Name  string
	Index int // among the rule's, or among the Body's
	Value Template
	// Generated is the path of the field that the variable reads from the child's own observed object, if its default
	// is random; nil for every other variable.
	Generated []string
}

// Child is one node of spec.children, or of spec.finalize.
type Child struct {
	ID       string
	GVK      schema.GroupVersionKind
	Position diagnostic.Position
	Body
	Template Template
	// Optional and Adopt are as in the rule. Cleanup is true for a node of spec.finalize, and IsList for one with a forEach.
	Optional, Adopt, Cleanup, IsList bool
	// Namespaced is what the compiler's Kinds know; true without Kinds. Unresolved is true if the kind was missing when the
	// rule was compiled, so that it is not known.
	Namespaced, Unresolved bool
	// Elsewhere is true if the template sets a namespace, which may differ from the parent's.
	Elsewhere bool
	// Read is false if only the existence of the live objects matters: no expression reads them, and their content does
	// not decide whether they are ready.
	Read         bool
	UpdatePolicy syntax.UpdatePolicy
	// Propagation is how an object is deleted to be recreated.
	Propagation metav1.DeletionPropagation
	// CreateWhen and UpdateWhen are nil if they are always true, RecreateWhen if it never is,
	// and ReadyWhen if the status of the objects decides.
	CreateWhen, UpdateWhen, RecreateWhen, ReadyWhen *Expression
	// Rollout is nil if all objects may be updated at once.
	Rollout *Rollout
	// Ignore are the fields that are set when an object is created, and left to others from then on. Handovers are left
	// to others while a condition holds (Evaluation.Ignores).
	Ignore    []syntax.IgnorePath
	Handovers []Handover
	// Ending is what happens to its objects. An empty policy is computed by an expression of EndingFrom;
	// Evaluation.Ending has its value.
	Ending     Ending
	EndingFrom EndingTemplate
	Generated  []GeneratedField
	// Needs are the children that must be settled before this one, and WaitsFor those that must be ready. Rank is the
	// length of the longest chain of nodes before it.
	Needs, WaitsFor []int
	Rank            int
	// Private is true if the name or the namespace of its objects is computed from a Secret, and PrivateKeys if keys in
	// them may be.
	Private, PrivateKeys bool
	// Root is the child whose items this one shares by sameAs, or the child itself. SameItems is true if another child
	// has the same items.
	Root      int
	SameItems bool
}

// Lookup is one node of spec.lookups, or the target of a patch.
type Lookup struct {
	ID       string
	Index    int
	GVK      schema.GroupVersionKind
	Position diagnostic.Position
	Body
	Optional bool
	// Namespaced and Unresolved are as those of Child.
	Namespaced, Unresolved bool
	AllNamespaces          bool
	// Namespace and Selector are constant. If Namespace is empty, the objects are in the parent's namespace, in
	// several, or in none.
	Namespace string
	Selector  labels.Selector
	// Exactly one of NameFrom, SelectorFrom and Selector is set. NamespaceFrom is nil if the rule sets no namespace,
	// and with AllNamespaces.
	NameFrom, SelectorFrom, NamespaceFrom Template
	// Private is true if the lookup is computed from a Secret: its name, its items, or whether it is read.
	Private bool
	// Place replaces lookups.ID in messages, for the target of a patch.
	Place string
}

// Patch is one node of spec.patches.
type Patch struct {
	ID       string
	GVK      schema.GroupVersionKind
	Position diagnostic.Position
	Body
	Template Template
	// Target selects the objects; nil for a patch of the parent.
	Target *Lookup
	// Optional is as in the rule. Refuse is true if the patch takes no field from another field manager. PrivateKeys is as
	// in Child.
	Optional, Refuse, PrivateKeys bool
}

// Duration is spec.requeueAfter, spec.minInterval or spec.finalize.timeout.
type Duration struct {
	syntax.Duration
	// Value is nil for a constant.
	Value Template
}

// Finalize is spec.finalize.
type Finalize struct {
	// Until is nil if the children of finalize decide by becoming ready.
	Until   *Expression
	Timeout *Duration
	// Reads are the children and lookups that Until reads, in that order.
	Reads []flow.Ref
}

// Rollout is rollout of a child.
type Rollout struct {
	syntax.Rollout
	// Max is maxUnavailable if that is an expression; otherwise nil.
	Max Template
}

// Ending is what happens to a child that the rule no longer renders, and to one whose parent is deleted.
type Ending struct {
	WhenPruned, WhenDeleted syntax.DeletionPolicy
}

// EndingTemplate has the expressions of a deletionPolicy; nil without one.
type EndingTemplate struct {
	WhenPruned, WhenDeleted Template
}

// Handover is a field that is left to others as long as a condition holds.
type Handover struct {
	Path syntax.IgnorePath
	// Place is the position of When below the child, for messages.
	Place string
	When  *Expression
}
