package operator

import (
	"strings"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"kanon.dev/kanon/engine/queue"
	"kanon.dev/kanon/engine/watch"
	"kanon.dev/kanon/rules/syntax"
)

// Set has the rules that run at one time. It does not change once it is stored.
type Set struct {
	ByID map[string]*Operator
	// ByKey has, for each informer, the operators that need it.
	ByKey map[watch.Key][]*Operator
	// Removals are the operators that remove a rule.
	Removals []*Operator
	// Rules has the ids of all rules that exist, running or not; nil if they are not all known.
	Rules map[string]bool
	// Paused has the rules that exist but do not run, by the kind of their parents.
	Paused map[schema.GroupKind][]*syntax.Rule
	// reads has the resources of objects that are parents, are looked up, or are patched.
	reads map[schema.GroupVersionResource]bool
}

// NewSet returns the Set of these operators.
func NewSet(ops []*Operator) *Set {
	set := &Set{
		ByID: make(map[string]*Operator, len(ops)), ByKey: make(map[watch.Key][]*Operator),
		reads: make(map[schema.GroupVersionResource]bool),
	}
	for _, op := range ops {
		set.ByID[op.ID] = op
		if op.Removal != nil {
			set.Removals = append(set.Removals, op)
		}
		set.reads[op.Parent.GVR] = true
		for _, l := range op.Lookups {
			set.reads[l.Kind.GVR] = true
		}
		for _, patch := range op.Patches {
			set.reads[patch.Kind.GVR] = true
		}
		for _, key := range op.Informers() {
			set.ByKey[key] = append(set.ByKey[key], op)
		}
	}
	return set
}

// Running has the rules that run now. Only the goroutine of the catalog stores. The zero value has no rules.
type Running struct{ set atomic.Pointer[Set] }

// Load returns the newest Set.
func (r *Running) Load() *Set {
	if set := r.set.Load(); set != nil {
		return set
	}
	return NewSet(nil)
}

// Store makes a Set the newest one.
func (r *Running) Store(set *Set) { r.set.Store(set) }

// Get returns the operator of a rule; nil if the rule does not run.
func (r *Running) Get(id string) *Operator { return r.Load().ByID[id] }

// IsCurrent reports whether an operator is the running one of its rule.
func (r *Running) IsCurrent(op *Operator) bool { return r.Get(op.ID) == op }

// IsCurrentRevision reports whether the rule runs in the operator's revision.
func (r *Running) IsCurrentRevision(op *Operator) bool {
	now := r.Get(op.ID)
	return now != nil && now.Removal == nil && now.Program.Hash == op.Program.Hash
}

// IsRead reports whether parents of any rule depend on objects of a resource.
func (r *Running) IsRead(gvr schema.GroupVersionResource) bool { return r.Load().reads[gvr] }

// NameOf returns the name of a rule; its id if the rule no longer runs.
func (r *Running) NameOf(id string) string {
	if op := r.Get(id); op != nil {
		return op.Name.String()
	}
	return id
}

// TargetOf names the target of a patch, for people.
func (r *Running) TargetOf(k queue.Key) string {
	if op := r.Get(k.Rule); op != nil && op.Patches[k.Patch].IsPrivate() {
		return op.Patches[k.Patch].PrivateName()
	}
	return k.Parent.String()
}

// TenantOf returns the namespace of a tenant's rule. A rule of Kanon's own namespace, and one that no longer runs, is a
// tenant by itself, named by the rule's id.
func (r *Running) TenantOf(id string) string {
	if op := r.Get(id); op != nil && op.Program.Confined {
		return op.Name.Namespace
	}
	return id
}

// hidden stands for a rule of another namespace in messages about a tenant's rule.
const hidden = "a rule outside of this namespace"

// mayName reports whether messages about a rule may name another one. Messages about a tenant's rule name only rules in
// its namespace.
func (op *Operator) mayName(other *Operator) bool {
	return !op.Program.Confined || other.Name.Namespace == op.Name.Namespace
}

// TitleFor returns how messages about the rule of reader name another rule. known is false if they must not reveal more
// of it.
func (r *Running) TitleFor(reader *Operator, id string) (title string, known bool) {
	if op := r.Get(id); op != nil && !reader.mayName(op) {
		return hidden, false
	}
	return "rule " + r.NameOf(id), true
}

// ManagerFor returns how messages about the rule of reader name a field manager: a manager of another rule by that
// rule. The managers of a rule have the rule's id between dashes.
func (r *Running) ManagerFor(reader *Operator, manager string) string {
	running := r.Load().ByID
	for part := range strings.SplitSeq(manager, "-") {
		if _, found := running[part]; found {
			title, _ := r.TitleFor(reader, part)
			return title
		}
	}
	return manager
}
