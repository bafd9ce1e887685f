package program

import (
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kanon.dev/kanon/rules/celenv/function"
	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/flow"
	"kanon.dev/kanon/rules/ignore"
	"kanon.dev/kanon/rules/program/parentstatus"
	"kanon.dev/kanon/rules/program/rendered"
	"kanon.dev/kanon/rules/program/template"
	"kanon.dev/kanon/rules/syntax"
)

// TenantServiceAccount is the ServiceAccount of a rule that is confined to its namespace and names none.
const TenantServiceAccount = "kanon-tenant"

// Program is a compiled rule. The compiler fills it in, and from then on it is read-only: it
// is safe for concurrent use.
type Program struct {
	// Name, Namespace, which may be empty, and ConditionPrefix are those of the rule. Hash
	// identifies its content by 16 hex digits.
	Name, Namespace, Hash, ConditionPrefix string
	// ServiceAccountName is the one with whose rights the rule acts; empty: Kanon's own.
	ServiceAccountName string
	// Confined is true if the rule must not reach beyond its namespace.
	Confined bool
	// AllowPrivileged is true if the rule may write objects that grant rights.
	AllowPrivileged bool
	// Suspend is true if the engine must change nothing for the rule.
	Suspend bool
	// Parent selects the objects that the rule applies to.
	Parent    Parent
	Variables map[string]*Variable
	// Lookups, Children and Patches are in the order of the rule.
	Lookups    []*Lookup
	LookupByID map[string]*Lookup
	Children   []*Child
	// Order has the indices of Children, each after those that it needs, and ByID the index of
	// each.
	Order   []int
	ByID    map[string]int
	Patches []*Patch
	// Status is nil if the rule writes no status.
	Status     template.Template
	Conditions []parentstatus.ConditionTemplate
	Events     []parentstatus.EventTemplate
	// RequeueAfter, MinInterval, Finalize and DeleteWhen are nil if the rule has none.
	RequeueAfter, MinInterval *Duration
	Finalize                  *Finalize
	DeleteWhen                *template.Expression
	// OnRuleDeletion is what happens to the children when the rule is deleted, and PruneLimit
	// how many objects a new revision may delete without a confirmation.
	OnRuleDeletion syntax.RuleDeletion
	PruneLimit     int
	Limits         *template.Limits

	// ReadsStatus is true if an expression reads the parent's own status, perhaps through a
	// lookup. Then the rule must not be evaluated on a copy that is older than the last write.
	ReadsStatus bool
	// Drifts is true if something that the rule renders changes with every second, which only
	// spec.requeueAfter permits.
	Drifts bool
	// Meant is true if a schema turns text in an expression into a time or a duration: without
	// the schema the rule would give something else.
	Meant bool
	// HasSecrets is true if the parent, a lookup, a child or the target of a patch is a Secret.
	// Messages about an evaluation have no values then, and what others report of its objects,
	// such as the API server, must not be passed on with values either.
	HasSecrets bool
	// StatusKinds are the custom kinds of the rule that have a status. An object of such a kind
	// is not ready before it has one.
	StatusKinds function.StatusKinds
}

// ConditionTypes lists the types of spec.conditions in the order of the rule.
func (p *Program) ConditionTypes() []string {
	names := make([]string, len(p.Conditions))
	for i := range p.Conditions {
		names[i] = p.Conditions[i].Type
	}
	return names
}

// Rank is how many nodes must exist, one after the other, before the one with that id; -1
// where the rule has no such node.
func (p *Program) Rank(node string) int {
	i, ok := p.ByID[node]
	if !ok {
		return -1
	}
	return p.Children[i].Rank
}

// Parent says which objects a rule reconciles.
type Parent struct {
	GVK schema.GroupVersionKind
	// Selector selects by labels of the parent. nil: all.
	Selector labels.Selector
	// Namespaces limits the namespaces by name. Empty: all.
	Namespaces []string
	// NamespaceSelector selects by labels of the parent's Namespace. nil: all.
	NamespaceSelector labels.Selector
	// Namespaced is what the compiler's Kinds said of the kind; true without Kinds.
	Namespaced bool
	// When is nil if it is always true.
	When *template.Expression
}

// Body is what children, lookups and patches have in common: when they exist, and for which
// items.
type Body struct {
	// When is nil if it is always true.
	When      *template.Expression
	ForEach   []Dimension
	Variables map[string]*Variable
}

// Dimension is one dimension of a forEach.
type Dimension struct {
	Name string
	In   template.Template
	// Path is the position of In, for messages.
	Path string
}

// Variable is a variable of the rule or of a Body.
type Variable struct {
	Name  string
	Index int // among the rule's, or among the Body's
	Value template.Template
	// Generated is the path of the field that the variable reads from the child's own observed
	// object, if the default is made at random; nil for every other variable.
	Generated []string
}

// Child is one node of spec.children, or of spec.finalize.
type Child struct {
	ID       string
	GVK      schema.GroupVersionKind
	Position diagnostic.Position
	Body
	Template template.Template
	// IsList is true if the node makes a list of objects, by a forEach.
	IsList bool
	// Namespaced is what the compiler's Kinds said of the kind; true without Kinds.
	Namespaced bool
	// Elsewhere is true if the template names a namespace, which may be another than the
	// parent's.
	Elsewhere bool
	// Optional is true if the node is skipped while the cluster does not have its kind.
	Optional bool
	// Unresolved is true if the kind was missing when the rule was compiled: whether it is
	// namespaced is not known.
	Unresolved bool
	// Cleanup is true for a node of spec.finalize, which has objects only while the parent is
	// being deleted.
	Cleanup bool
	// Adopt is true if the node may take over an object that exists, if nobody else claims it.
	Adopt bool
	// Read is false if nothing depends on more of its live objects than that they exist: no
	// expression reads them, and their content does not say whether they are ready.
	Read bool
	// UpdatePolicy says how its objects are changed.
	UpdatePolicy syntax.UpdatePolicy
	// CreateWhen and UpdateWhen are nil if they are always true, RecreateWhen if it never is,
	// and ReadyWhen if the status of the objects decides.
	CreateWhen, UpdateWhen, RecreateWhen, ReadyWhen *template.Expression
	// Rollout is nil if all objects may be updated at once.
	Rollout *Rollout
	// Ignore are the fields that are set when an object is created, and left to others from
	// then on; Handovers those that are while a condition holds (Evaluation.Ignores).
	Ignore    []ignore.Path
	Handovers []Handover
	// Ending says what becomes of its objects. What is empty there, only an expression of
	// EndingFrom knows: Evaluation.Ending has its value.
	Ending     Ending
	EndingFrom EndingTemplate
	// Generated are the fields that are generated once.
	Generated []rendered.GeneratedField
	// Needs are the children that must be settled before this one, and WaitsFor those that must
	// be ready. Rank is how many nodes come before it, one after the other.
	Needs, WaitsFor []int
	Rank            int
	// Root is the child whose items this one shares, by sameAs, or the child itself. SameItems
	// is true if another child has the same items.
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
	// Namespaced is what the compiler's Kinds said of the kind; true without Kinds.
	Namespaced bool
	// AllNamespaces is true if the lookup is in all namespaces.
	AllNamespaces bool
	// Namespace is where all objects of the lookup are, and Selector their selector, as far as
	// the rule says so without an expression. Without a Namespace they are in the parent's, in
	// several, or in none.
	Namespace string
	Selector  labels.Selector
	// NameFrom or SelectorFrom is given, or the Selector. NamespaceFrom is nil if the rule has
	// no namespace there, and with AllNamespaces.
	NameFrom, SelectorFrom, NamespaceFrom template.Template
	// Unresolved is as that of Child.
	Unresolved bool
	// Private is true if something of a Secret says what is looked up.
	Private bool
	// Place is the place in messages, for what is found as a lookup and is none.
	Place string
}

// Patch is one node of spec.patches.
type Patch struct {
	ID       string
	GVK      schema.GroupVersionKind
	Position diagnostic.Position
	Body
	Template template.Template
	// Target finds the objects; nil for a patch of the parent itself.
	Target *Lookup
	// Refuse is true if nothing is to be taken from another field manager.
	Refuse bool
}

// Duration is spec.requeueAfter, spec.minInterval or spec.finalize.timeout.
type Duration struct {
	syntax.Duration
	// Value is nil for a constant.
	Value template.Template
}

// Finalize is spec.finalize.
type Finalize struct {
	// Until is nil if the children of finalize decide by being ready.
	Until   *template.Expression
	Timeout *Duration
	// Reads are the children and lookups that Until reads, in the order in which it does.
	Reads []flow.Ref
}

// Rollout is rollout of a child.
type Rollout struct {
	syntax.Rollout
	// Max is maxUnavailable if it is an expression, else nil.
	Max template.Template
}

// Ending says what becomes of a child that the rule no longer renders, and of one whose parent
// is deleted.
type Ending struct {
	WhenPruned, WhenDeleted syntax.DeletionPolicy
}

// EndingTemplate has the expressions of a deletionPolicy; nil where it has none.
type EndingTemplate struct {
	WhenPruned, WhenDeleted template.Template
}

// Handover is a field that is left to others as long as a condition holds.
type Handover struct {
	Path ignore.Path
	// Place is where When stands below the child.
	Place string
	When  *template.Expression
}
