package engine

import (
	"iter"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"kanon.dev/kanon/engine/apply/fieldset"
	"kanon.dev/kanon/engine/apply/mark"
	"kanon.dev/kanon/engine/contributions"
	"kanon.dev/kanon/engine/monitor"
	"kanon.dev/kanon/engine/record"
	"kanon.dev/kanon/restmapping"
	"kanon.dev/kanon/rules"
)

// operator is one rule that runs: the compiled program and where in the
// cluster its objects are. It is immutable, but for events.
type operator struct {
	id      string // the rule's
	name    types.NamespacedName
	program *rules.Program
	// started is when the rule, in this revision, began to run in this process.
	started time.Time

	// kinds says where the objects of its kinds are, and which kinds are missing.
	kinds     kindPlan
	parent    restmapping.Kind
	parentKey monitor.Key
	// children has every kind of spec.children, by GVK.
	children map[schema.GroupVersionKind]restmapping.Kind
	// nodes has the kind of each node of spec.children, by its id, and waiting why
	// there is none.
	nodes   map[string]restmapping.Kind
	waiting map[string]rules.Absence
	// unread are the nodes of whose objects the content does not matter once it is
	// written.
	unread map[string]bool
	// whole has the resources of which it has the children with their content: where that matters to it, and where they
	// are in memory for another rule anyway.
	whole map[schema.GroupVersionResource]bool
	// policies says how the children of each node are treated, by its id.
	policies map[string]fieldset.Policy
	// adopters are the nodes that may take over objects which nobody claims.
	adopters map[string]bool
	// recreators are the nodes whose objects may be made anew for the sake of a
	// change, with their updatePolicy.
	recreators map[string]rules.UpdatePolicy
	// ordered are the nodes whose objects are removed one after the other.
	ordered map[string]bool
	// deletions says what becomes of the children of each node, by its id, as far as
	// that needs no expression.
	deletions map[string]rules.Ending
	// lookups has each node of spec.lookups, by its id.
	lookups map[string]lookup
	// removal is set where the rule, or its kind of parents, is gone, and what it left is cleared away.
	removal *removal
	// patches has each node of spec.patches, by its id.
	patches map[string]patchPlan
	// contributing stands for this start of the rule in the account of what parents
	// set by patches.
	contributing *contributions.Revision
	// origin is where the rule stands.
	origin record.Origin
	// retired has the kinds that the rule's children had and have no more: there may
	// be objects of them to prune.
	retired map[schema.GroupVersionKind]restmapping.Kind
	// absent are kinds that its children had and that the cluster does not show.
	absent []schema.GroupVersionKind
	// namespaceKey is the informer of Namespaces; nil unless the rule selects
	// parents by their Namespace's labels.
	namespaceKey *monitor.Key
	// hasRecord is set once the rule's record has what it must before the rule writes
	// anything.
	hasRecord atomic.Bool
	// begun is set once its parents were woken for the first time.
	begun atomic.Bool
	// explained is set once an Event has told why there are no conditions.
	explained atomic.Bool
	// sought is set once parents that are held out of view were looked for.
	sought atomic.Bool
	// looksBack is set once an expression has asked how a child was before this pass.
	looksBack atomic.Bool
	// namespaces is the set of spec.parent.namespaces; empty means all.
	namespaces map[string]bool
}

// namespacesGVR is where Namespaces are; core/v1 is never absent.
var namespacesGVR = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"} //nolint:gochecknoglobals // a constant in all but syntax

// newOperator plans the informers of a program. previous is the operator that
// it replaces, or nil. It fails when the kind of the parents does not exist any more; the
// nodes of other kinds that are missing are left out.
func newOperator(id string, name types.NamespacedName, program *rules.Program, mapper *restmapping.Mapper, previous *operator) (*operator, error) {
	op := &operator{
		id: id, name: name, program: program, started: time.Now(),
		children:   make(map[schema.GroupVersionKind]restmapping.Kind),
		nodes:      make(map[string]restmapping.Kind),
		waiting:    make(map[string]rules.Absence),
		unread:     make(map[string]bool),
		whole:      make(map[schema.GroupVersionResource]bool),
		policies:   make(map[string]fieldset.Policy),
		adopters:   make(map[string]bool),
		recreators: make(map[string]rules.UpdatePolicy),
		ordered:    make(map[string]bool),
		deletions:  make(map[string]rules.Ending),
		lookups:    make(map[string]lookup),
		patches:    make(map[string]patchPlan),
		retired:    make(map[schema.GroupVersionKind]restmapping.Kind),
		namespaces: make(map[string]bool),

		contributing: &contributions.Revision{Rule: id, Kinds: make(map[string]schema.GroupVersionKind)},
	}
	spec := program.Parent()
	op.kinds = planKinds(program, mapper)
	if op.parent = op.kinds.parent; op.parent.GVR.Empty() {
		return nil, &missingKindError{gvk: spec.GVK}
	}
	op.parentKey = monitor.Key{GVR: op.parent.GVR}
	if spec.Selector != nil {
		op.parentKey.Selector = spec.Selector.String()
	}
	for _, namespace := range spec.Namespaces {
		op.namespaces[namespace] = true
	}
	if len(op.namespaces) == 1 && op.parent.Namespaced {
		op.parentKey.Namespace = spec.Namespaces[0]
	}
	if spec.NamespaceSelector != nil {
		op.namespaceKey = &allNamespaces
	}
	for _, child := range program.Children() {
		op.planKind(child)
		op.unread[child.ID] = !child.Read
		op.policies[child.ID], op.adopters[child.ID] = policyOf(child), child.Adopt
		if child.UpdatePolicy == rules.UpdateRecreate || child.UpdatePolicy == rules.UpdateApplyOrRecreate {
			op.recreators[child.ID] = child.UpdatePolicy
		}
		if child.Ordered {
			op.ordered[child.ID] = true
		}
		op.deletions[child.ID] = child.Ending
	}
	for _, spec := range program.Lookups() {
		if kind, ok := op.kinds.found[spec.GVK]; ok {
			op.lookups[spec.ID] = newLookup(spec, kind)
		}
	}
	op.planPatches(program)
	op.retire(maps.Keys(op.kinds.missing), mapper)
	if previous != nil {
		op.retire(maps.Keys(previous.children), mapper)
		op.retire(maps.Keys(previous.retired), mapper)
		op.retire(slices.Values(previous.absent), mapper)
		if previous.program != nil && previous.program.Hash() == program.Hash() {
			op.started = previous.started
			op.explained.Store(previous.explained.Load())
		}
	}
	return op, nil
}

// planKind notes where the objects of a child are, or why it has to wait.
func (op *operator) planKind(child rules.Child) {
	kind, ok := op.kinds.found[child.GVK]
	if !ok {
		op.waiting[child.ID] = op.kinds.missing[child.GVK]
		return
	}
	op.children[child.GVK], op.nodes[child.ID] = kind, kind
	if child.Read {
		op.whole[kind.GVR] = true
	}
}

// policyOf is what a rule says of a node's children, as the writer takes it.
func policyOf(child rules.Child) fieldset.Policy {
	return fieldset.Policy{
		Ignore:  pathsOf(child.Ignore),
		Content: child.UpdatePolicy == rules.UpdateRecreate || child.Rollout,
	}
}

// pathsOf are paths of a rule as the writer takes them.
func pathsOf(ignored []rules.IgnoredPath) []fieldset.Path {
	out := make([]fieldset.Path, len(ignored))
	for i, path := range ignored {
		out[i] = make(fieldset.Path, len(path))
		for j, step := range path {
			out[i][j] = fieldset.Step(step)
		}
	}
	return out
}

// generatedPaths are the paths of generated fields as the writer takes them.
func generatedPaths(generated [][]string) []fieldset.Path {
	var out []fieldset.Path
	for _, fields := range generated {
		path := make(fieldset.Path, len(fields))
		for i, name := range fields {
			path[i] = fieldset.Step{Field: name}
		}
		out = append(out, path)
	}
	return out
}

// retire keeps the kinds that are not children any more, as far as the cluster
// still has them.
func (op *operator) retire(kinds iter.Seq[schema.GroupVersionKind], mapper *restmapping.Mapper) {
	for gvk := range kinds {
		if _, used := op.children[gvk]; used {
			continue
		}
		if kind, ok := mapper.Lookup(gvk); ok {
			op.retired[gvk] = kind
		} else if !slices.Contains(op.absent, gvk) {
			op.absent = append(op.absent, gvk)
		}
	}
}

// remains is what is kept of an operator that was stopped, for the one that may
// come in its place.
func (op *operator) remains() *operator {
	return &operator{
		id: op.id, name: op.name, parent: op.parent, children: op.children, retired: op.retired, absent: op.absent, whole: op.whole,
	}
}

// lookAs has the operator look at children by the same informers as the one in whose place it comes, which is nil where that is
// not known. They have the answers of its last writes; with others, a removal could be over before it sees the last child.
func (op *operator) lookAs(previous *operator) {
	if previous != nil {
		maps.Copy(op.whole, previous.whole)
	}
}

// outdated tells whether a kind went away, or was replaced, or came back: the informer
// of a kind that is gone would ask for it for ever.
func (op *operator) outdated(mapper *restmapping.Mapper) bool {
	if !op.kinds.equal(op.kinds.again(mapper)) {
		return true
	}
	for _, gvk := range op.absent {
		if _, ok := mapper.Lookup(gvk); ok {
			return true
		}
	}
	for gvk, kind := range op.retired {
		if now, ok := mapper.Lookup(gvk); !ok || !sameDefinition(now, kind) {
			return true
		}
	}
	return false
}

// childKey is the informer of the children of one resource, which rules share.
func (op *operator) childKey(gvr schema.GroupVersionResource) monitor.Key {
	return monitor.Key{GVR: gvr, Selector: mark.LabelRule, Heads: !op.whole[gvr]}
}

// shareWhole has operators that are about to start look at whole children where one of all does: one informer is enough
// then. An operator that runs keeps those that it has, because another one would have to fill first; so a resource has two
// informers from when a rule begins to read its objects until those that do not are started again.
func shareWhole(all, started []*operator) {
	whole := make(map[schema.GroupVersionResource]bool)
	for _, op := range all {
		maps.Copy(whole, op.whole)
	}
	for _, op := range started {
		for kind := range op.childKinds() {
			if whole[kind.GVR] {
				op.whole[kind.GVR] = true
			}
		}
	}
}

// childKinds lists the kinds of which the rule may have children, retired
// ones too.
func (op *operator) childKinds() iter.Seq[restmapping.Kind] {
	return func(yield func(restmapping.Kind) bool) {
		for _, kinds := range []map[schema.GroupVersionKind]restmapping.Kind{op.children, op.retired} {
			for _, kind := range kinds {
				if !yield(kind) {
					return
				}
			}
		}
	}
}

// keys lists every informer that the operator needs, each once.
func (op *operator) keys() []monitor.Key {
	keys := []monitor.Key{op.parentKey}
	for kind := range op.childKinds() {
		if key := op.childKey(kind.GVR); !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	for _, l := range op.lookups {
		if !l.borrowed && !slices.Contains(keys, l.key) {
			keys = append(keys, l.key)
		}
	}
	for _, plan := range op.patches {
		if !plan.borrowed && !slices.Contains(keys, plan.key) {
			keys = append(keys, plan.key)
		}
	}
	if op.namespaceKey != nil && !slices.Contains(keys, *op.namespaceKey) {
		keys = append(keys, *op.namespaceKey)
	}
	return keys
}

// selection says whether a rule is for a parent.
type selection int

const (
	unselected selection = iota
	selected
	// undecided: the labels of the parent's Namespace are not known.
	undecided
)

// selects tells whether the rule is for this parent, by all that does not need
// an evaluation: labels, namespace, and the Namespace's labels.
func (op *operator) selects(parent *unstructured.Unstructured, namespaceLabels func(name string) (labels.Set, bool)) selection {
	if !op.inView(parent) {
		return unselected
	}
	return op.selectsNamespace(parent.GetNamespace(), namespaceLabels)
}

// selectsNamespace is selects for a parent in view, of which no more than its namespace is known.
func (op *operator) selectsNamespace(namespace string, namespaceLabels func(name string) (labels.Set, bool)) selection {
	if len(op.namespaces) > 0 && !op.namespaces[namespace] {
		return unselected
	}
	selector := op.program.Parent().NamespaceSelector
	if selector == nil {
		return selected
	}
	set, known := namespaceLabels(namespace)
	switch {
	case !known:
		return undecided
	case selector.Matches(set):
		return selected
	default:
		return unselected
	}
}

// inView tells whether the informer of parents should hold this one.
func (op *operator) inView(parent *unstructured.Unstructured) bool {
	selector := op.program.Parent().Selector
	return (selector == nil || selector.Matches(labels.Set(parent.GetLabels()))) &&
		(op.parentKey.Namespace == "" || op.parentKey.Namespace == parent.GetNamespace())
}

// isNarrow tells whether a parent that is out of view may still be there.
func (op *operator) isNarrow() bool {
	return op.parentKey.Selector != "" || op.parentKey.Namespace != ""
}

// owner is what the children of a node say of whom they belong to.
func (op *operator) owner(parent *unstructured.Unstructured, node string) mark.Owner {
	return mark.Owner{
		RuleID: op.id, Rule: op.name.String(), Node: node,
		Parent: mark.Ref{
			Group: op.parent.GVK.Group, Kind: op.parent.GVK.Kind,
			Namespace: parent.GetNamespace(), Name: parent.GetName(), UID: parent.GetUID(),
		},
	}
}

// controllerRef is the owner reference that a child of parent carries.
func (op *operator) controllerRef(parent *unstructured.Unstructured) *metav1.OwnerReference {
	return metav1.NewControllerRef(parent, op.parent.GVK)
}

// statusManagers begins the field managers of what rules say in a status.
const statusManagers = "kanon-status-"

// statusManager is the field manager of what the rule says in a status.
func (op *operator) statusManager() string { return statusManagers + op.id }

// isNewerThan tells whether the rule was started after an object was created. The API server reports that time in whole
// seconds; within one second the object counts as the later one.
func (op *operator) isNewerThan(created time.Time) bool {
	return created.Before(op.started.Truncate(time.Second))
}
