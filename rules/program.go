package rules

import (
	"slices"

	"kanon.dev/kanon/rules/celenv/function"
	"kanon.dev/kanon/rules/syntax"
)

// Program is a compiled rule. It is immutable and safe for concurrent use.
type Program struct {
	name, namespace string
	hash            string
	suspend         bool
	prefix          string
	parent          Parent
	parentWhen      *expression
	variables       map[string]*compiledVariable
	lookups         map[string]*compiledLookup
	lookupOrder     []string
	children        []*compiledChild
	patches         []*compiledPatch
	// order lists the children. Each comes after those it needs.
	order     []int
	byID      map[string]int
	status    template
	ownStatus bool
	limits    *Limits
	// meant is true if a schema turns text in an expression into a time or a duration:
	// without the schema the rule would give something else.
	meant bool

	conditions                []compiledCondition
	events                    []compiledEvent
	requeueAfter, minInterval *compiledDuration
	finalize                  *compiledFinalize
	drifts                    bool
	onRuleDeletion            syntax.RuleDeletion
	pruneLimit                int
	deleteWhen                *expression
	// secrets is true if the rule reads or writes Secrets.
	secrets bool
	// statusKinds are the custom kinds of the rule that have a status. An object of such a
	// kind is not ready before it has one.
	statusKinds function.StatusKinds
}

// Name is the rule's metadata.name.
func (p *Program) Name() string { return p.name }

// Namespace is the rule's metadata.namespace, which may be empty.
func (p *Program) Namespace() string { return p.namespace }

// Hash identifies the content of the rule: 16 hex digits.
func (p *Program) Hash() string { return p.hash }

// Suspend reports whether the engine must change nothing for the rule.
func (p *Program) Suspend() bool { return p.suspend }

// ConditionPrefix is prefixed to Ready, Reconciling and Stalled.
func (p *Program) ConditionPrefix() string { return p.prefix }

// HasStatus reports whether the rule writes the parent's status.
func (p *Program) HasStatus() bool { return p.status != nil }

// ReadsStatus reports whether an expression reads the parent's own status, perhaps through a
// lookup. Then the rule must not be evaluated on a copy that is older than the last write.
func (p *Program) ReadsStatus() bool { return p.ownStatus }

// ConditionTypes lists the types of spec.conditions in the order of the rule.
func (p *Program) ConditionTypes() []string {
	names := make([]string, len(p.conditions))
	for i := range p.conditions {
		names[i] = p.conditions[i].typ
	}
	return names
}

// Parent selects the objects that the rule applies to.
func (p *Program) Parent() Parent {
	parent := p.parent
	parent.Namespaces = slices.Clone(parent.Namespaces)
	return parent
}

// Children lists the children in the order of the rule.
func (p *Program) Children() []Child {
	out := make([]Child, len(p.children))
	for i, c := range p.children {
		out[i] = c.Child
	}
	return out
}

// Lookups lists the lookups in the order of the rule.
func (p *Program) Lookups() []Lookup {
	out := make([]Lookup, len(p.lookupOrder))
	for i, id := range p.lookupOrder {
		out[i] = p.lookups[id].Lookup
	}
	return out
}

// Drifts reports whether something that the rule renders changes with every second, which
// only spec.requeueAfter permits.
func (p *Program) Drifts() bool { return p.drifts }

// body is what children, lookups and patches have in common: when they exist, and for which
// items.
type body struct {
	when    *expression
	forEach []dimension
	locals  map[string]*compiledVariable
}

// compiledChild is a compiled child.
type compiledChild struct {
	Child
	body
	kind      Kind
	readyWhen *expression
	// createWhen and updateWhen are nil if they are always true.
	createWhen, updateWhen *expression
	// recreateWhen is nil if it is never true.
	recreateWhen *expression
	// rollout is nil if all objects may be updated at once.
	rollout  *compiledRollout
	deletion compiledDeletion
	// handovers are the fields that are left to others under a condition.
	handovers []handover
	// generated are the fields that are generated once.
	generated []generatedField
	// rank is the length of the longest chain of children that must exist before this one.
	rank     int
	template template
	// needs are the children that must be settled before this one, and waitsFor
	// those that must be ready.
	needs, waitsFor []int
	// root is the child whose items this one shares, by sameAs, or the child itself.
	// sameItems is true if another child has the same items.
	root      int
	sameItems bool
}

// dimension is one dimension of a forEach.
type dimension struct {
	name string
	in   template
	// path is the position of in, for messages.
	path string
}

// release drops what only the compiler needs.
func (p *Program) release() {
	for _, v := range p.variables {
		v.release()
	}
	for _, child := range p.children {
		child.release()
	}
	for _, l := range p.lookups {
		l.release()
	}
	for _, patch := range p.patches {
		patch.release()
	}
}

// looksUpParents reports whether a lookup can give the parent itself, and its status.
func (p *Program) looksUpParents() bool {
	for _, l := range p.lookups {
		if l.GVK.GroupKind() == p.parent.GVK.GroupKind() {
			return true
		}
	}
	return false
}

func (b *body) release() {
	for _, v := range b.locals {
		v.release()
	}
}

// OnRuleDeletion is what happens to the rule's children when it is deleted.
func (p *Program) OnRuleDeletion() syntax.RuleDeletion { return p.onRuleDeletion }

// PruneLimit is how many objects a new revision of the rule may delete without a
// confirmation.
func (p *Program) PruneLimit() int { return p.pruneLimit }
