package rules

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/yamltree"
)

const (
	// APIVersion is the version of the rule language that this package reads.
	APIVersion = "kanon.dev/v1alpha1"
	// RuleKind is the kind of a rule document.
	RuleKind = "Rule"
)

// Documents are what one source holds.
type Documents struct {
	// Rules are the rules that could be decoded. A rule for which Decode
	// reported an error is not among them.
	Rules []*Rule
	// Partial are the rules for which Decode reported an error, as far as they
	// could be read. Compile finds what else is wrong with them and never makes
	// a program of them.
	Partial []*Rule
	// CRDs are the CustomResourceDefinitions beside the rules, as written.
	CRDs []*unstructured.Unstructured
	// definitions are CRDs with their places.
	definitions []definition
}

// Rule is one decoded rule document. Its parts keep their positions, so that
// Compile can say where something is wrong. It is immutable.
type Rule struct {
	Name, Namespace     string
	Labels, Annotations map[string]string
	// Position is where the document's metadata.name stands.
	Position diagnostic.Position
	// Suspend asks the engine to leave everything as it is.
	Suspend bool
	// ConditionPrefix goes before Ready, Reconciling and Stalled.
	ConditionPrefix string

	src          *yamltree.Source
	hash         string
	namespacePos diagnostic.Position

	parent    parentSpec
	variables []variableSpec
	lookups   []lookupSpec
	children  []childSpec
	patches   []patchSpec
	status    *yamltree.Node

	// finalize is nil where the field is not there.
	finalize *finalizeSpec

	conditions []conditionSpec
	events     []eventSpec
	// Each is nil where the field is not there.
	requeueAfter, minInterval *durationSpec

	onRuleDeletion RuleDeletion
	pruneLimit     int
	// deleteWhen is nil where the field is not there.
	deleteWhen *yamltree.Node

	// partial is true where something could not be read.
	partial bool
	// openVariables, openLookups and openChildren are true where there are more of
	// them than those that could be read, so that a name may be one of those.
	openVariables, openLookups, openChildren bool
}

// Hash names the content of the rule: 16 hex digits that change when, and
// only when, the document says something else. AnnotationConfirmPrune does not count.
func (r *Rule) Hash() string { return r.hash }

// ParentKind is the kind that spec.parent names.
func (r *Rule) ParentKind() schema.GroupVersionKind { return r.parent.gvk }

// MaySelect tells whether the rule may be for a parent of its kind, compiled or not: by all that spec.parent says but its when.
// namespaceLabels has the labels of a namespace; where it does not know them, the rule may.
func (r *Rule) MaySelect(parent metav1.Object, namespaceLabels func(name string) (labels.Set, bool)) bool {
	spec, namespace := &r.parent, parent.GetNamespace()
	if spec.selector != nil && !spec.selector.Matches(labels.Set(parent.GetLabels())) ||
		len(spec.namespaces) > 0 && !slices.Contains(spec.namespaces, namespace) {
		return false
	}
	if spec.namespaceSelector == nil {
		return true
	}
	set, known := namespaceLabels(namespace)
	return !known || spec.namespaceSelector.Matches(set)
}

// Taken is the finding about a rule whose name, given with its namespace, is
// that of another rule already, which stands at other.
func (r *Rule) Taken(name string, other diagnostic.Position) diagnostic.Finding {
	f := diagnostic.New(r.Position, diagnostic.CodeRuleTwice, "there is a rule %s already, at %s; a rule's name must be unique in its namespace", name, other)
	f.Text = r.src.LineAt(r.Position)
	return *f
}

// Clashing is the finding about a rule and another one that runs beside it.
func (r *Rule) Clashing(c Clash) diagnostic.Finding {
	f := diagnostic.New(c.Position, diagnostic.CodeClash, "%s; that rule is at %s", c.Message, c.Other)
	f.Text = r.src.LineAt(c.Position)
	return *f
}

// parentSpec is spec.parent.
type parentSpec struct {
	gvk               schema.GroupVersionKind
	pos               diagnostic.Position // of kind
	selector          labels.Selector
	namespaces        []string
	namespaceSelector labels.Selector
	when              *yamltree.Node
	// node is nil where the field is missing or no mapping.
	node *yamltree.Node
	gaps gaps
}

// variableSpec is one item of spec.variables or of a child's variables.
type variableSpec struct {
	name string
	pos  diagnostic.Position
	// value is nil where it could not be read.
	value *yamltree.Node
}

// forEachSpec is one dimension of a forEach.
type forEachSpec struct {
	name string
	pos  diagnostic.Position
	// in is nil where it could not be read.
	in *yamltree.Node
}

// dependency is a child that another one names: in dependsOn, or as sameAs.
type dependency struct {
	id  string
	pos diagnostic.Position
}

// bodySpec is what children and lookups have in common: when they are there,
// and for which items.
type bodySpec struct {
	when      *yamltree.Node
	forEach   []forEachSpec
	variables []variableSpec

	gaps gaps
	// openVariables and openNames are true where there are more variables, or
	// forEach names, than those that could be read.
	openVariables, openNames bool
}

// childSpec is one item of spec.children.
type childSpec struct {
	bodySpec
	id    string
	pos   diagnostic.Position // of the id
	index int
	// sameAs is the child whose items this one has; nil where it has its own.
	sameAs    *dependency
	dependsOn []dependency
	readyWhen *yamltree.Node
	adopt     bool
	optional  bool
	// createWhen and updateWhen say whether the object may be made, and written.
	createWhen, updateWhen *yamltree.Node
	// recreateWhen says whether it is to be deleted and made anew.
	recreateWhen    *yamltree.Node
	updatePolicy    UpdatePolicy
	updatePolicyPos diagnostic.Position
	// rollout is nil where it is not there.
	rollout  *rolloutSpec
	deletion deletionSpec
	// cleanup is true for those of spec.finalize.
	cleanup bool
	ignore  []ignoreSpec
	// template is nil where it is missing or no mapping.
	template *yamltree.Node
}

// ignoreSpec is one item of ignore.
type ignoreSpec struct {
	// place is where it stands below the child, such as ignore[0].
	place string
	path  *yamltree.Node
	// when is nil where the field is always left to others.
	when *yamltree.Node
}

// label names a child in messages, by its id where it has one.
func (c *childSpec) label() string {
	if c.id == "" {
		if c.cleanup {
			return fmt.Sprintf("spec.finalize.children[%d]", c.index)
		}
		return fmt.Sprintf("spec.children[%d]", c.index)
	}
	return c.id
}

// many says whether a child makes a list of objects.
func (c *childSpec) many() bool { return len(c.forEach) > 0 || c.sameAs != nil }

// lookupSpec is one item of spec.lookups.
type lookupSpec struct {
	bodySpec
	id       string
	pos      diagnostic.Position // of the id
	index    int
	gvk      schema.GroupVersionKind
	optional bool
	// node is the lookup as a whole.
	node *yamltree.Node
	// name, namespace and selector are nil where they are missing or could not be
	// read.
	name, namespace, selector *yamltree.Node
	// labels is the selector where it holds no expression.
	labels labels.Selector
}

// label names a lookup in messages and in paths.
func (l *lookupSpec) label() string {
	if l.id == "" {
		return fmt.Sprintf("spec.lookups[%d]", l.index)
	}
	return "lookups." + l.id
}

// gaps are the fields of a mapping of which not all could be read. What follows
// from their being incomplete is not reported: the reason was.
type gaps map[string]bool
