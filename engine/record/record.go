package record

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"kanon.dev/kanon/engine/source"
	"kanon.dev/kanon/rules/syntax"
)

// Record is what is known of one rule after a restart. Its JSON is the format in the cluster.
type Record struct {
	// Rule is namespace/name.
	Rule string `json:"rule"`
	// Origin is where the text of the rule was last.
	Origin Origin `json:"origin"`
	// Revision is the last one that may delete what it does not render.
	Revision string `json:"revision,omitempty"`
	// Parents are the kinds of parents that the rule has had, the present one last.
	Parents []Kind `json:"parents"`
	// Children are the kinds of objects that the rule may have created.
	Children []Kind `json:"children,omitempty"`
	// Finalizers is true once parents may have the rule's finalizer.
	Finalizers bool `json:"holds,omitempty"`
	// Patches are those by which the rule may have set something.
	Patches []Patch `json:"patches,omitempty"`
	// ConditionPrefix and Conditions say which conditions of the parents are the rule's.
	ConditionPrefix string   `json:"conditionPrefix,omitempty"`
	Conditions      []string `json:"conditions,omitempty"`
	// ServiceAccountName and Confined say with whose rights the rule acts, also when it is removed.
	ServiceAccountName string `json:"serviceAccountName,omitempty"`
	Confined           bool   `json:"confined,omitempty"`
	// OnRuleDeletion is that of the rule's last text.
	OnRuleDeletion syntax.RuleDeletion `json:"onRuleDeletion"`
	// Blocked is what a revision would delete and may not; nil if there is none. It is no part of what the seal proves.
	Blocked *Blocked `json:"-"`
	// Removal is why the removal of the rule waits, for people; empty if it does not, and while the rule exists. The seal does not
	// prove it either.
	Removal string `json:"-"`
	// Report says how a rule in a file fares, which has no object with a status; nil for all others, and before it is known. The seal does
	// not prove it, either.
	Report *Report `json:"-"`
}

// Report is what Kanon reports on a rule, for people. Nobody changes it. Its JSON is the key report of the ConfigMap.
type Report struct {
	Ready   bool   `json:"ready"`
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message"`
}

// Blocked is what the prune guard blocks, for people and for programs. Nobody changes it. Its JSON is the key blocked of the
// ConfigMap; Message has the key held.
type Blocked struct {
	// Revision is what confirms the deletions, and Reason how much it would delete.
	Revision string `json:"revision"`
	Reason   string `json:"reason"`
	// Objects are the first objects, such as "Service team-a/web", and More counts the others, such as "2 Service".
	Objects []string `json:"objects"`
	More    []string `json:"more,omitempty"`
	// Message is what is reported on a rule in a file, which has no object with a status. Earlier versions wrote nothing else.
	Message string `json:"-"`
}

// Origin is a source.Origin without the UID of the object, which changes when somebody creates the object again.
type Origin struct {
	Namespace string `json:"namespace,omitempty"`
	ConfigMap string `json:"configMap,omitempty"`
	Rule      string `json:"rule,omitempty"`
	Path      string `json:"path,omitempty"`
	// Definition is that of a Rule object.
	Definition types.UID `json:"definition,omitempty"`
}

// OriginOf is an origin as records have it.
func OriginOf(o source.Origin) Origin {
	return Origin{
		Namespace: cmp.Or(o.ConfigMap.Namespace, o.Rule.Namespace),
		ConfigMap: o.ConfigMap.Name, Rule: o.Rule.Name, Path: o.Path, Definition: o.Definition,
	}
}

// Source is the origin as sources have it.
func (o Origin) Source() source.Origin {
	if o.Rule != "" {
		return source.Origin{Rule: types.NamespacedName{Namespace: o.Namespace, Name: o.Rule}, Definition: o.Definition}
	}
	return source.Origin{ConfigMap: types.NamespacedName{Namespace: o.Namespace, Name: o.ConfigMap}, Path: o.Path}
}

// Kind is a kind of objects.
type Kind struct {
	Group   string `json:"group,omitempty"`
	Version string `json:"version"`
	Kind    string `json:"kind"`
	// Revision is the last one that may delete objects of a kind that the rule dropped. Only a kind of which such objects
	// are left has it.
	Revision string `json:"revision,omitempty"`
	// Unseen is true where the cluster did not have the kind when the rule's revision got its permission to delete.
	Unseen bool `json:"unseen,omitempty"`
}

// GVK is the kind as Kubernetes has it.
func (k Kind) GVK() schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: k.Group, Version: k.Version, Kind: k.Kind}
}

func kindOf(gvk schema.GroupVersionKind) Kind {
	return Kind{Group: gvk.Group, Version: gvk.Version, Kind: gvk.Kind}
}

// indexOf is the index of a kind, or -1.
func indexOf(kinds []Kind, gvk schema.GroupVersionKind) int {
	return slices.IndexFunc(kinds, func(k Kind) bool { return k.GVK() == gvk })
}

// Patch is a patch of a rule, with the kind of its targets.
type Patch struct {
	ID string `json:"id"`
	Kind
}

// AddChild adds a kind of children.
func (r *Record) AddChild(gvk schema.GroupVersionKind) {
	if indexOf(r.Children, gvk) < 0 {
		r.Children = append(r.Children, kindOf(gvk))
	}
}

// AddParent makes a kind the last one of the parents.
func (r *Record) AddParent(gvk schema.GroupVersionKind) {
	if i := indexOf(r.Parents, gvk); i >= 0 {
		r.Parents = slices.Delete(r.Parents, i, i+1)
	}
	r.Parents = append(r.Parents, kindOf(gvk))
}

// AddPatch adds a patch. The kind of its targets may differ between revisions: then the record has the patch with each kind.
func (r *Record) AddPatch(id string, gvk schema.GroupVersionKind) {
	if p := (Patch{ID: id, Kind: kindOf(gvk)}); !slices.Contains(r.Patches, p) {
		r.Patches = append(r.Patches, p)
	}
}

// Clone is a deep copy.
func (r *Record) Clone() Record {
	c := *r
	c.Parents, c.Children, c.Patches = slices.Clone(r.Parents), slices.Clone(r.Children), slices.Clone(r.Patches)
	c.Conditions = slices.Clone(r.Conditions)
	return c
}

// equalButReport reports whether two records have the same content, whatever they report.
func (r *Record) equalButReport(other *Record) bool {
	a, b := *r, *other
	a.Report, b.Report = nil, nil
	return a.Equal(&b)
}

// Equal reports whether two records have the same content.
func (r *Record) Equal(other *Record) bool { return equality.Semantic.DeepEqual(r, other) }
