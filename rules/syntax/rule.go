package syntax

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/selection"

	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/language"
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
	Name        string            `rule:"name,subdomain"`
	Namespace   string            `rule:"namespace,label"`
	Labels      map[string]string `rule:"labels"`
	Annotations map[string]string `rule:"annotations"`
	// Position is the position of metadata.name.
	Position     diagnostic.Position `rule:"name"`
	NamespacePos diagnostic.Position `rule:"namespace"`
	// ServiceAccountName is the identity with which the rule acts; empty: Kanon's own.
	ServiceAccountName string `rule:"serviceAccountName,subdomain"`
	// AllowPrivileged permits objects that grant rights. AllowPrivilegedPos is the position of the field.
	AllowPrivileged    bool                `rule:"allowPrivileged"`
	AllowPrivilegedPos diagnostic.Position `rule:"allowPrivileged"`
	// Suspend asks the engine to change nothing.
	Suspend bool `rule:"suspend"`
	// ConditionPrefix is prefixed to Ready, Reconciling and Stalled.
	ConditionPrefix string `rule:"conditionPrefix,conditionPrefix"`

	Source *yamltree.Source
	hash   string

	Parent     Parent         `rule:"parent"`
	Variables  []Variable     `rule:"variables"`
	Lookups    []Lookup       `rule:"lookups"`
	Children   []Child        `rule:"children"`
	Patches    []Patch        `rule:"patches"`
	Status     *yamltree.Node `rule:"status"`
	Finalize   *Finalize      `rule:"finalize"`
	Conditions []Condition    `rule:"conditions"`
	Events     []Event        `rule:"events"`
	// Each is nil without the field.
	RequeueAfter *Duration      `rule:"requeueAfter,1s"`
	MinInterval  *Duration      `rule:"minInterval,1ms"`
	DeleteWhen   *yamltree.Node `rule:"deleteWhen"`
	// OnRuleDeletion is what happens to the children when the rule is deleted. It is known even if the rule does not
	// compile.
	OnRuleDeletion RuleDeletion `rule:"onRuleDeletion"`
	PruneLimit     int          `rule:"pruneLimit"`

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
	kindName
	GVK               schema.GroupVersionKind
	Pos               diagnostic.Position `rule:"kind"`
	Selector          labels.Selector     `rule:"selector"`
	Namespaces        []string            `rule:"namespaces,label"`
	NamespaceSelector labels.Selector     `rule:"namespaceSelector"`
	When              *yamltree.Node      `rule:"when"`
	// Schema declares the kind; nil without the field.
	Schema *kindFields `rule:"schema"`
	// Definition comes from spec.parent.schema; nil without it, or if it has a mistake. DefineStatus changes it.
	Definition *unstructured.Unstructured
	// Untyped is true if Definition lacks the type of a field of the status. Awaits are the kinds whose schemas may
	// provide it.
	Untyped bool
	Awaits  []schema.GroupVersionKind
	// kind is what schema declares. readers have the positions of its versions.
	kind    *shortschema.Kind
	readers []*shortschema.Reader
	// defined is the kind with the status, as in Definition.
	defined *shortschema.Kind
	// Node is nil if the field is missing.
	Node *yamltree.Node `rule:""`
	Gaps Gaps
}

func (p *Parent) complete(d *decoder, n *yamltree.Node, path string) {
	if list := n.Get("namespaces"); list != nil && list.Kind == yamltree.Sequence && len(list.Items) == 0 && !list.Partial {
		d.report(list, diagnostic.CodeEmpty, "%s.namespaces is empty, so no parent could match", path).WithHint("leave it out to mean all")
	}
	p.GVK = p.gvk(d, n, path)
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
func (p *Parent) HasBrokenSchema() bool { return p.Schema != nil && p.Definition == nil }

// AdoptsDefinition reports whether Kanon may take over a definition of the kind that it did not create.
func (p *Parent) AdoptsDefinition() bool { return p.Schema != nil && p.Schema.Adopt }

// HasSchema reports whether the rule defines the kind.
func (p *Parent) HasSchema() bool { return p.Schema != nil }

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

// Gaps are the fields of a mapping that could not be read completely. The reason was reported, so nothing that follows
// from it is.
type Gaps map[string]bool

// Kinds lists the kinds that the rule names, each once. Compile looks these up.
func (r *Rule) Kinds() []schema.GroupVersionKind {
	var kinds []schema.GroupVersionKind
	add := func(gvk schema.GroupVersionKind) {
		if gvk.Kind != "" && !slices.Contains(kinds, gvk) {
			kinds = append(kinds, gvk)
		}
	}
	add(r.Parent.GVK)
	for i := range r.Lookups {
		add(r.Lookups[i].GVK)
	}
	for i := range r.Children {
		if template := r.Children[i].Template; template != nil {
			add(TemplateGVK(template))
		}
	}
	for i := range r.Patches {
		if target := r.Patches[i].Target; target != nil {
			add(target.GVK)
		}
	}
	return kinds
}

// TemplateGVK is the kind of a template. It is empty if that is not constant or has a mistake.
func TemplateGVK(template *yamltree.Node) schema.GroupVersionKind {
	apiVersion, _ := template.Get("apiVersion").Text()
	kind, _ := template.Get("kind").Text()
	gv, err := schema.ParseGroupVersion(apiVersion)
	if err != nil || apiVersion == "" || kind == "" || yamltree.HasExpression(kind) {
		return schema.GroupVersionKind{}
	}
	return gv.WithKind(kind)
}

// IsBuiltIn reports whether an API group belongs to Kubernetes itself.
func IsBuiltIn(group string) bool {
	switch group {
	case "", "apps", "autoscaling", "batch", "policy",
		"admissionregistration.k8s.io", "apiextensions.k8s.io", "apiregistration.k8s.io", "authentication.k8s.io",
		"authorization.k8s.io", "certificates.k8s.io", "coordination.k8s.io", "discovery.k8s.io", "events.k8s.io",
		"flowcontrol.apiserver.k8s.io", "internal.apiserver.k8s.io", "networking.k8s.io", "node.k8s.io",
		"rbac.authorization.k8s.io", "resource.k8s.io", "scheduling.k8s.io", "storage.k8s.io", "storagemigration.k8s.io":
		return true
	}
	return false
}

// IsSecret reports whether a kind is Secret.
func IsSecret(gvk schema.GroupVersionKind) bool { return gvk.Group == "" && gvk.Kind == "Secret" }

// HasSecrets reports whether a rule reads, creates or patches Secrets, or has them as parents.
func (r *Rule) HasSecrets() bool { return slices.ContainsFunc(r.Kinds(), IsSecret) }

// RuleDeletion is what happens to the children of a rule that is deleted.
type RuleDeletion string

const (
	// OrphanChildren keeps them.
	OrphanChildren RuleDeletion = "Orphan"
	// DeleteChildren deletes them.
	DeleteChildren RuleDeletion = "Delete"
)

// AnnotationConfirmPrune is an annotation of a rule, or of the ConfigMap that contains it. It allows a revision of the
// rule to delete more than PruneLimit objects. Its value is the Hash of that revision, or several separated by commas.
// The hash does not include the annotation.
const AnnotationConfirmPrune = "kanon.dev/confirm-prune"

// AnnotationConfirmDefinition is an annotation of a rule, or of the ConfigMap that contains it. It allows a change of
// the kind's CustomResourceDefinition by which objects lose something. Its value names the change, or several separated
// by commas.
const AnnotationConfirmDefinition = "kanon.dev/confirm-definition"

// AnnotationVerbosity is an annotation of a rule, or of the ConfigMap that contains it. It raises the verbosity of the
// rule's log; package engine/request reads it. It is not part of a revision.
const AnnotationVerbosity = "kanon.dev/verbosity"

// defaultPruneLimit is more children than most rules have, and fewer than their parents.
const defaultPruneLimit = 10

// Confirmed lists the revisions that the document confirms.
func (r *Rule) Confirmed() []string { return ConfirmedRevisions(r.Annotations[AnnotationConfirmPrune]) }

// ConfirmedDefinitions lists the changes of the kind's definition that the document confirms.
func (r *Rule) ConfirmedDefinitions() []string {
	return ConfirmedRevisions(r.Annotations[AnnotationConfirmDefinition])
}

// ConfirmedRevisions lists what a value of AnnotationConfirmPrune or AnnotationConfirmDefinition names.
func ConfirmedRevisions(value string) []string {
	return strings.FieldsFunc(value, func(r rune) bool { return r == ',' || r == ' ' })
}

// revision is the hash of a document without the annotations that do not change what the rule does.
func revision(n *yamltree.Node) string {
	metadata := n.Get("metadata")
	annotations := metadata.Get("annotations")
	left := annotations
	for _, name := range []string{AnnotationConfirmPrune, AnnotationConfirmDefinition, AnnotationVerbosity} {
		if left != nil && left.Has(name) {
			left = left.Without(name)
		}
	}
	switch {
	case left == annotations:
		return n.Hash()
	case len(left.Fields) == 0:
		return n.With("metadata", metadata.Without("annotations")).Hash()
	default:
		return n.With("metadata", metadata.With("annotations", left)).Hash()
	}
}
