package syntax

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/selection"

	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/language"
	"kanon.dev/kanon/rules/scanner"
	"kanon.dev/kanon/rules/shortschema"
	"kanon.dev/kanon/rules/yamltree"
)

const (
	// APIVersion is the version of the rule language.
	APIVersion = language.APIVersion
	// RuleKind is the kind of a rule document.
	RuleKind = language.Kind
	// TestKind is the kind of a document with tests of a rule, which may be in the same directory. Decode skips it.
	TestKind = "RuleTest"
)

// Documents are the decoded documents of one source.
type Documents struct {
	// Rules are the rules without an error.
	Rules []*Rule
	// Partial are the rules with an error, as far as they could be read. Compile finds more mistakes in them, and never
	// returns a program for them.
	Partial []*Rule
	// CRDs are the CustomResourceDefinitions beside the rules.
	CRDs []*unstructured.Unstructured
	// definitions are CRDs with their positions, by the same indices.
	definitions []definition
}

// Rule is one decoded rule. Its parts keep their positions, so that Compile can report
// mistakes in them. It is immutable.
type Rule struct {
	Name, Namespace     string
	Labels, Annotations map[string]string
	// Position is the position of metadata.name.
	Position diagnostic.Position
	// ServiceAccountName is the identity with which the rule acts; empty: Kanon's own.
	ServiceAccountName string
	// AllowPrivileged permits objects that grant rights. AllowPrivilegedPos is the position of the field.
	AllowPrivileged    bool
	AllowPrivilegedPos diagnostic.Position
	// Suspend asks the engine to change nothing.
	Suspend bool
	// ConditionPrefix is prefixed to Ready, Reconciling and Stalled.
	ConditionPrefix string

	Source       *yamltree.Source
	hash         string
	NamespacePos diagnostic.Position

	Parent    Parent
	Variables []Variable
	Lookups   []Lookup
	Children  []Child
	Patches   []Patch
	Status    *yamltree.Node

	// Finalize is nil without the field.
	Finalize *Finalize

	Conditions []Condition
	Events     []Event
	// Each is nil without the field.
	RequeueAfter, MinInterval *Duration

	onRuleDeletion RuleDeletion
	PruneLimit     int
	// DeleteWhen is nil without the field.
	DeleteWhen *yamltree.Node

	// BooleanWords are keys and values that kubectl reads as booleans in a file; nil for a Rule object.
	BooleanWords []*yamltree.Node
	// Partial is true if something could not be read.
	Partial bool
	// OpenVariables, OpenLookups and OpenChildren are true if some could not be read. An unknown name may then be one
	// of those.
	OpenVariables, OpenLookups, OpenChildren bool
}

// Hash identifies the content of the rule by 16 hex digits. Annotations that confirm something or set the verbosity do
// not count.
func (r *Rule) Hash() string { return r.hash }

// ParentKind is the kind in spec.parent.
func (r *Rule) ParentKind() schema.GroupVersionKind { return r.Parent.GVK }

// MaySelect reports whether the rule may apply to a parent of its kind, even if it does not compile: it checks
// everything in spec.parent but when. namespaceLabels returns the labels of a namespace; if they are unknown, the rule
// may apply.
func (r *Rule) MaySelect(parent metav1.Object, namespaceLabels func(name string) (labels.Set, bool)) bool {
	spec, namespace := &r.Parent, parent.GetNamespace()
	if spec.Selector != nil && !spec.Selector.Matches(labels.Set(parent.GetLabels())) ||
		len(spec.Namespaces) > 0 && !slices.Contains(spec.Namespaces, namespace) {
		return false
	}
	if spec.NamespaceSelector == nil {
		return true
	}
	set, known := namespaceLabels(namespace)
	return !known || spec.NamespaceSelector.Matches(set)
}

// TooMany is the finding about a rule that does not run because its namespace already has limit others.
func (r *Rule) TooMany(namespace string, limit int) diagnostic.Finding {
	f := diagnostic.New(r.Position, diagnostic.CodeTooManyRules, "namespace %s has %d rules already, with those that are being removed, and this one does not run", namespace, limit)
	f.WithHint("remove others, or put rules for one kind together; kanon get rules shows those that are being removed, and what they wait for")
	return *f
}

// Taken is the finding about a rule whose name is taken. name is its namespace and name, and other the position of the
// other rule.
func (r *Rule) Taken(name string, other diagnostic.Position) diagnostic.Finding {
	f := diagnostic.New(r.Position, diagnostic.CodeRuleTwice, "there is a rule %s already, at %s; a rule's name must be unique in its namespace", name, other)
	return *f.WithRelated(other, "the other rule").WithLines(r.Source)
}

// Parent is spec.parent.
type Parent struct {
	GVK               schema.GroupVersionKind
	Pos               diagnostic.Position // of kind
	Selector          labels.Selector
	Namespaces        []string
	NamespaceSelector labels.Selector
	When              *yamltree.Node
	// Definition comes from spec.parent.schema; nil without it, or if it has a mistake. DefineStatus changes it.
	Definition *unstructured.Unstructured
	// AdoptDefinition is true if Kanon may take over a definition of the kind that it did not create.
	AdoptDefinition bool
	schema          *yamltree.Node
	// Untyped is true if Definition lacks the type of a field of the status. Awaits are the kinds whose schemas may
	// provide it.
	Untyped bool
	Awaits  []schema.GroupVersionKind
	// kind is what schema declares. readers have the positions of its versions.
	kind    *shortschema.Kind
	readers []*shortschema.Reader
	// defined is the kind with the status, as in Definition.
	defined *shortschema.Kind
	// Node is nil if the field is missing or not a mapping.
	Node *yamltree.Node
	Gaps Gaps
}

// Refuse makes a rule partial because of a mistake that was found after decoding.
func (docs *Documents) Refuse(rule *Rule) {
	if rule.Partial {
		return
	}
	rule.Partial = true
	docs.Rules = slices.DeleteFunc(slices.Clone(docs.Rules), func(other *Rule) bool { return other == rule })
	docs.Partial = append(docs.Partial, rule)
}

// HasBrokenSchema reports whether the rule defines the kind, with mistakes.
func (p *Parent) HasBrokenSchema() bool { return p.schema != nil && p.Definition == nil }

// HasSchema reports whether the rule defines the kind.
func (p *Parent) HasSchema() bool { return p.schema != nil }

// Labelled reports whether the selector requires any label of every parent.
func (p *Parent) Labelled() bool { return p.Guarantees("") }

// Guarantees reports whether the selector requires a label of every parent. An empty label means any.
func (p *Parent) Guarantees(label string) bool {
	if p.Selector == nil {
		return false
	}
	requirements, _ := p.Selector.Requirements()
	for _, r := range requirements {
		switch r.Operator() {
		case selection.In, selection.Equals, selection.DoubleEquals, selection.Exists:
			if label == "" || r.Key() == label {
				return true
			}
		}
	}
	return false
}

// Variable is one item of spec.variables or of a child's variables.
type Variable struct {
	Name string
	Pos  diagnostic.Position
	// Value is nil if it could not be read.
	Value *yamltree.Node
}

// Dimension is one dimension of a forEach.
type Dimension struct {
	Name string
	pos  diagnostic.Position
	// In is nil if it could not be read.
	In *yamltree.Node
}

// Dependency is the id of another child, in dependsOn or sameAs.
type Dependency struct {
	ID  string
	Pos diagnostic.Position
}

// Body is what children, lookups and patches have in common: when they exist, and for which items.
type Body struct {
	When      *yamltree.Node
	ForEach   []Dimension
	Variables []Variable

	Gaps Gaps
	// OpenVariables and OpenNames are true if some variables, or forEach names, could not be read.
	OpenVariables, OpenNames bool
}

// Child is one item of spec.children or of spec.finalize.children.
type Child struct {
	Body
	ID    string
	Pos   diagnostic.Position // of the id
	index int
	// SameAs is the child whose items this one shares; nil if it has its own.
	SameAs    *Dependency
	DependsOn []Dependency
	ReadyWhen *yamltree.Node
	Adopt     bool
	Optional  bool
	// CreateWhen and UpdateWhen decide whether the object may be created and updated.
	CreateWhen, UpdateWhen *yamltree.Node
	// RecreateWhen decides whether the object is recreated.
	RecreateWhen    *yamltree.Node
	UpdatePolicy    UpdatePolicy
	UpdatePolicyPos diagnostic.Position
	// Rollout is nil without the field.
	Rollout  *Rollout
	Deletion Deletion
	// Cleanup is true for the children of spec.finalize.
	Cleanup bool
	Ignore  []Ignore
	// Template is nil if it is missing or not a mapping.
	Template *yamltree.Node
}

// Ignore is one item of ignore.
type Ignore struct {
	// Place is the path of the item below the child, such as ignore[0].
	Place string
	Path  *yamltree.Node
	// When is nil if the field is always left to others.
	When *yamltree.Node
}

// Label names a child in messages, by its id if it has one.
func (c *Child) Label() string {
	if c.ID == "" {
		if c.Cleanup {
			return fmt.Sprintf("spec.finalize.children[%d]", c.index)
		}
		return fmt.Sprintf("spec.children[%d]", c.index)
	}
	return c.ID
}

// Many reports whether a child has a list of objects.
func (c *Child) Many() bool { return len(c.ForEach) > 0 || c.SameAs != nil }

// NamesNamespace reports whether the template sets a namespace, or may set one.
func (c *Child) NamesNamespace() bool {
	metadata := c.Template.Get("metadata")
	return metadata != nil && (metadata.Kind != yamltree.Mapping || metadata.Has("namespace") || metadata.Partial ||
		slices.ContainsFunc(metadata.Fields, func(f yamltree.Field) bool { return scanner.HasExpression(f.Name) }))
}

// Lookup is one item of spec.lookups.
type Lookup struct {
	Body
	ID       string
	Pos      diagnostic.Position // of the id
	Index    int
	GVK      schema.GroupVersionKind
	Optional bool
	// Node is the whole lookup.
	Node *yamltree.Node
	// Name, Namespace and Selector are nil if they are missing or could not be read.
	Name, Namespace, Selector *yamltree.Node
	// Labels is the selector if it has no expression.
	Labels labels.Selector
}

// Label names a lookup in messages and paths.
func (l *Lookup) Label() string {
	if l.ID == "" {
		return fmt.Sprintf("spec.lookups[%d]", l.Index)
	}
	return "lookups." + l.ID
}

// Gaps are the fields of a mapping that could not be read completely. The reason was reported, so nothing that follows
// from it is.
type Gaps map[string]bool
