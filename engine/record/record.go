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

// Record is what is remembered of one rule across restarts. Its JSON is the format in the cluster.
type Record struct {
	// Rule is namespace/name.
	Rule string `json:"rule"`
	// Origin is where the rule's text was last seen.
	Origin Origin `json:"origin"`
	// Revision is the last revision that may delete what it does not render.
	Revision string `json:"revision,omitempty"`
	// Parents are the kinds of parents that the rule has had, the current one last.
	Parents []Kind `json:"parents"`
	// Children are the kinds of children that the rule may have created.
	Children []Kind `json:"children,omitempty"`
	// Finalizers is true once parents may have the rule's finalizer.
	Finalizers bool `json:"holds,omitempty"`
	// Patches are the patches with which the rule may have set something.
	Patches []Patch `json:"patches,omitempty"`
	// ConditionPrefix and Conditions say which conditions of the parents belong to the rule.
	ConditionPrefix string   `json:"conditionPrefix,omitempty"`
	Conditions      []string `json:"conditions,omitempty"`
	// ServiceAccountName and Confined say with whose rights the rule acts, even while it is being removed.
	ServiceAccountName string `json:"serviceAccountName,omitempty"`
	Confined           bool   `json:"confined,omitempty"`
	// HidesNames is true if people must not be told the names of the children, which are computed from Secrets.
	HidesNames bool `json:"hidesNames,omitempty"`
	// OnRuleDeletion is the policy in the rule's last text.
	OnRuleDeletion syntax.RuleDeletion `json:"onRuleDeletion"`
	// Blocked is what the prune guard keeps a revision from deleting; nil if nothing. The seal does not cover it.
	Blocked *Blocked `json:"-"`
	// Removal says, for people, why the removal of the rule waits; empty if it does not wait. The seal does not cover
	// it.
	Removal string `json:"-"`
	// Report is the report on a rule in a file, which has no object with a status; nil for other rules, and until it
	// is known. The seal does not cover it.
	Report *Report `json:"-"`
}

// Report is what Kanon reports on a rule, for people. It is immutable. Its JSON is the key report of the ConfigMap.
type Report struct {
	Ready   bool   `json:"ready"`
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message"`
}

// Blocked is what the prune guard blocks, for people and for programs. It is immutable. Its JSON is the key blocked
// of the ConfigMap; the key held has Message.
type Blocked struct {
	// Revision is the value that confirms the deletions, and Reason says how much would be deleted.
	Revision string `json:"revision"`
	Reason   string `json:"reason"`
	// Objects names the first objects, such as "Service team-a/web", and More counts the others, such as "2 Service".
	Objects []string `json:"objects"`
	More    []string `json:"more,omitempty"`
	// Message is the report on a rule in a file, which has no object with a status. Earlier versions wrote nothing
	// else.
	Message string `json:"-"`
}

// Origin is a source.Origin without the UID of the object, which changes when somebody recreates the object.
type Origin struct {
	Namespace string `json:"namespace,omitempty"`
	ConfigMap string `json:"configMap,omitempty"`
	Rule      string `json:"rule,omitempty"`
	Path      string `json:"path,omitempty"`
	// Definition is the UID of the definition that a Rule object belongs to.
	Definition types.UID `json:"definition,omitempty"`
}

// OriginOf converts an origin to the form in records.
func OriginOf(o source.Origin) Origin {
	return Origin{
		Namespace: cmp.Or(o.ConfigMap.Namespace, o.Rule.Namespace),
		ConfigMap: o.ConfigMap.Name, Rule: o.Rule.Name, Path: o.Path, Definition: o.Definition,
	}
}

// Source converts the origin to the form that sources use.
func (o Origin) Source() source.Origin {
	if o.Rule != "" {
		return source.Origin{Rule: types.NamespacedName{Namespace: o.Namespace, Name: o.Rule}, Definition: o.Definition}
	}
	return source.Origin{ConfigMap: types.NamespacedName{Namespace: o.Namespace, Name: o.ConfigMap}, Path: o.Path}
}

// Kind is a kind of objects in a record.
type Kind struct {
	Group   string `json:"group,omitempty"`
	Version string `json:"version"`
	Kind    string `json:"kind"`
	// Revision is the last revision that may delete objects of a kind that the rule no longer names. It is only set
	// while such objects are left.
	Revision string `json:"revision,omitempty"`
	// Unseen is true if the cluster lacked the kind when the rule's revision was permitted to delete.
	Unseen bool `json:"unseen,omitempty"`
}

// GVK returns the GroupVersionKind of the kind.
func (k Kind) GVK() schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: k.Group, Version: k.Version, Kind: k.Kind}
}

func kindOf(gvk schema.GroupVersionKind) Kind {
	return Kind{Group: gvk.Group, Version: gvk.Version, Kind: gvk.Kind}
}

// indexOf returns the index of a kind, or -1.
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

// AddParent makes a kind the current kind of the parents: the last in the list.
func (r *Record) AddParent(gvk schema.GroupVersionKind) {
	if i := indexOf(r.Parents, gvk); i >= 0 {
		r.Parents = slices.Delete(r.Parents, i, i+1)
	}
	r.Parents = append(r.Parents, kindOf(gvk))
}

// AddPatch adds a patch. If the kind of its targets differs between revisions, the record has the patch once for each
// kind.
func (r *Record) AddPatch(id string, gvk schema.GroupVersionKind) {
	if p := (Patch{ID: id, Kind: kindOf(gvk)}); !slices.Contains(r.Patches, p) {
		r.Patches = append(r.Patches, p)
	}
}

// Clone returns a deep copy.
func (r *Record) Clone() Record {
	c := *r
	c.Parents, c.Children, c.Patches = slices.Clone(r.Parents), slices.Clone(r.Children), slices.Clone(r.Patches)
	c.Conditions = slices.Clone(r.Conditions)
	return c
}

// equalButReport reports whether two records are equal apart from Report.
func (r *Record) equalButReport(other *Record) bool {
	a, b := *r, *other
	a.Report, b.Report = nil, nil
	return a.Equal(&b)
}

// Equal reports whether two records have the same content.
func (r *Record) Equal(other *Record) bool { return equality.Semantic.DeepEqual(r, other) }
