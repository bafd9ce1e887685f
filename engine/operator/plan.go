package operator

import (
	"cmp"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"kanon.dev/kanon/engine/apply/fieldset"
	"kanon.dev/kanon/engine/tenant"
	"kanon.dev/kanon/engine/watch"
	"kanon.dev/kanon/restmapping"
	"kanon.dev/kanon/rules/program"
	"kanon.dev/kanon/rules/syntax"
)

// Plan is a compiled rule on this cluster. Nodes are keyed by their id.
type Plan struct {
	ID      string // the rule's
	Name    types.NamespacedName
	Program *program.Program
	// Identity is the identity with which the rule reads and writes.
	Identity tenant.Identity

	// kinds has the kinds that the rule names, found or missing.
	kinds kinds
	// Parent is the kind of the parents, and ParentKey their informer.
	Parent    restmapping.Kind
	ParentKey watch.Key
	// NamespaceKey is the informer of Namespaces; nil unless the rule selects parents by their Namespace's labels.
	NamespaceKey *watch.Key
	// namespaces is the set of spec.parent.namespaces; empty means all.
	namespaces map[string]bool

	// Children has every kind of spec.children, Nodes the kind of each node, and Absences why a node has none.
	Children map[schema.GroupVersionKind]restmapping.Kind
	Nodes    map[string]restmapping.Kind
	Absences map[string]program.Absence
	// Unread are the nodes whose objects no longer matter once they are written.
	Unread map[string]bool
	// Whole has the resources whose children are watched with their content: because it matters, or because another
	// rule has it in memory anyway.
	Whole map[schema.GroupVersionResource]bool
	// Retired has the kinds that the rule's children had before: objects of them may have to be pruned. Absent are
	// those of them that the cluster does not have now.
	Retired map[schema.GroupVersionKind]restmapping.Kind
	Absent  []schema.GroupVersionKind

	// Policies says how the children of each node are written.
	Policies map[string]fieldset.Policy
	// Adopters are the nodes that may take over objects that nobody controls.
	Adopters map[string]bool
	// Recreators are the nodes whose objects may be recreated because of a change, with their updatePolicy.
	Recreators map[string]syntax.UpdatePolicy
	// Propagations are how the objects of each node are deleted to be recreated.
	Propagations map[string]metav1.DeletionPropagation
	// Ordered are the nodes whose objects are deleted one after the other.
	Ordered map[string]bool
	// Deletions is the deletionPolicy of each node, except for what an expression decides.
	Deletions map[string]program.Ending

	// Lookups has the nodes of spec.lookups, and Patches those of spec.patches.
	Lookups map[string]Lookup
	Patches map[string]Patch
}

// newPlan plans a program. previous is the operator that this one replaces, or nil. Nodes whose kind is missing have an
// absence.
func newPlan(id string, name types.NamespacedName, compiled *program.Program, mapper *restmapping.Mapper, previous *Operator) (*Plan, error) {
	p := &Plan{
		ID: id, Name: name, Program: compiled, Identity: IdentityOf(name, compiled.ServiceAccountName, compiled.Confined),
		namespaces: make(map[string]bool),
		Children:   make(map[schema.GroupVersionKind]restmapping.Kind),
		Nodes:      make(map[string]restmapping.Kind),
		Absences:   make(map[string]program.Absence),
		Unread:     make(map[string]bool),
		Whole:      make(map[schema.GroupVersionResource]bool),
		Retired:    make(map[schema.GroupVersionKind]restmapping.Kind),
		Policies:   make(map[string]fieldset.Policy),
		Adopters:   make(map[string]bool),
		Recreators: make(map[string]syntax.UpdatePolicy),
		Ordered:    Ordered(compiled),

		Propagations: make(map[string]metav1.DeletionPropagation),
		Deletions:    ByNode(compiled),
		Lookups:      make(map[string]Lookup),
		Patches:      make(map[string]Patch),
	}
	p.kinds = kindsOf(compiled, mapper)
	if p.kinds.parent.GVR.Empty() {
		return nil, &MissingKindError{GVK: compiled.Parent.GVK}
	}
	p.planParents(compiled.Parent)
	for _, child := range compiled.Children {
		p.planChild(child)
	}
	for _, spec := range compiled.Lookups {
		if kind, ok := p.kinds.found[spec.GVK]; ok {
			p.Lookups[spec.ID] = newLookup(spec, kind, p.Identity.Home())
		}
	}
	p.planPatches(compiled)
	p.retire(maps.Keys(p.kinds.missing), mapper)
	if previous != nil {
		p.retire(maps.Keys(previous.Children), mapper)
		p.retire(maps.Keys(previous.Retired), mapper)
		p.retire(slices.Values(previous.Absent), mapper)
	}
	return p, nil
}

// IdentityOf returns the identity of a rule. Without a ServiceAccount, a rule that is not confined acts as Kanon
// itself.
func IdentityOf(rule types.NamespacedName, serviceAccount string, confined bool) tenant.Identity {
	if confined {
		serviceAccount = cmp.Or(serviceAccount, program.TenantServiceAccount) // never Kanon's own
	}
	if serviceAccount == "" {
		return tenant.Identity{}
	}
	return tenant.Identity{ServiceAccount: types.NamespacedName{Namespace: rule.Namespace, Name: serviceAccount}, Confined: confined}
}

// planParents plans which parents are watched.
func (p *Plan) planParents(spec program.Parent) {
	p.Parent, p.ParentKey = p.kinds.parent, watch.Key{GVR: p.kinds.parent.GVR}
	if spec.Selector != nil {
		p.ParentKey.Selector = spec.Selector.String()
	}
	for _, namespace := range spec.Namespaces {
		p.namespaces[namespace] = true
	}
	if len(p.namespaces) == 1 && p.Parent.Namespaced {
		p.ParentKey.Namespace = spec.Namespaces[0]
	}
	if spec.NamespaceSelector != nil {
		p.NamespaceKey = &AllNamespaces
	}
}

// planChild plans one node of spec.children.
func (p *Plan) planChild(child *program.Child) {
	if kind, ok := p.kinds.found[child.GVK]; ok {
		p.Children[child.GVK], p.Nodes[child.ID] = kind, kind
		if child.Read {
			p.Whole[kind.GVR] = true
		}
	} else {
		p.Absences[child.ID] = p.kinds.missing[child.GVK]
	}
	if !child.Read {
		p.Unread[child.ID] = true
	}
	p.Policies[child.ID] = fieldset.Policy{
		Ignore:  child.Ignore,
		Content: child.UpdatePolicy == syntax.UpdateRecreate || child.Rollout != nil || len(child.WaitsFor) > 0,
	}
	p.Adopters[child.ID] = child.Adopt
	p.Propagations[child.ID] = child.Propagation
	if child.UpdatePolicy == syntax.UpdateRecreate || child.UpdatePolicy == syntax.UpdateApplyOrRecreate {
		p.Recreators[child.ID] = child.UpdatePolicy
	}
}

// IgnoresOwnStatus reports whether a write of a parent's status changes nothing that the rule depends on.
func (p *Plan) IgnoresOwnStatus() bool {
	return p.Program != nil && p.Parent.HasStatus && !p.Program.ReadsStatus && !p.Program.ReadsVersion
}

// IsOutdated reports whether a kind was removed or recreated, or exists again. The informer of a kind that no longer
// exists would ask for it forever.
func (p *Plan) IsOutdated(mapper *restmapping.Mapper) bool {
	if !p.kinds.equal(p.kinds.again(mapper)) {
		return true
	}
	for _, gvk := range p.Absent {
		if _, ok := mapper.Lookup(gvk); ok {
			return true
		}
	}
	for gvk, kind := range p.Retired {
		if now, ok := mapper.Lookup(gvk); !ok || !sameDefinition(now, kind) {
			return true
		}
	}
	return false
}

// Definitions returns the UID of the definition of each resource whose objects the rule reads; empty for kinds without
// one.
func (p *Plan) Definitions() map[schema.GroupVersionResource]types.UID {
	found := map[schema.GroupVersionResource]types.UID{p.Parent.GVR: p.Parent.Definition.UID}
	for kind := range p.ChildKinds() {
		found[kind.GVR] = kind.Definition.UID
	}
	for _, lookup := range p.Lookups {
		found[lookup.Kind.GVR] = lookup.Kind.Definition.UID
	}
	for _, patch := range p.Patches {
		found[patch.Kind.GVR] = patch.Kind.Definition.UID
	}
	return found
}
