package lifecycletest_test

import "slices"

// What a sequence writes reaches the engine by several watches, and nothing orders what
// two of them bring: it may see a parent's change before that of a rule, though that was
// written first. So an object must have stayed what it is only where every text of the
// rule and every state of the parent, in any combination, had a use for it: of all those
// since it was certain what the engine knows.

// ruleState is a rule at one time.
type ruleState struct {
	// text is nil where none is in force, or it is not certain which.
	text *revision
	// removed is true where there is no rule any more, and deletes where that is the
	// end of its children.
	removed, deletes bool
}

// orders has the states of the inputs, the newest last.
type orders struct {
	rules   map[string][]ruleState // by slot
	parents map[string][]*parent   // by name
	prod    []bool
	// rendered has what a text makes of a parent.
	rendered map[pairing]map[identity]bool
}

type pairing struct {
	text   *revision
	parent *parent
}

func newOrders() *orders {
	return &orders{
		rules: make(map[string][]ruleState), parents: make(map[string][]*parent), prod: []bool{true},
		rendered: make(map[pairing]map[identity]bool),
	}
}

// note takes in the present state.
func (o *orders) note(m *model) {
	for slot, r := range m.rules {
		now := ruleState{text: r.effective(), removed: r.text == nil, deletes: r.text == nil && r.deletes}
		o.rules[slot] = appendNew(o.rules[slot], now)
	}
	for name, p := range m.parents {
		o.parents[name] = appendNew(o.parents[name], p)
	}
	o.prod = appendNew(o.prod, m.prod)
}

func appendNew[T comparable](list []T, value T) []T {
	if n := len(list); n > 0 && list[n-1] == value {
		return list
	}
	return append(list, value)
}

// forget drops the states before the present one, as far as the engine must have seen
// that: of rules it has said so, of a parent its status tells.
func (o *orders) forget(m *model) {
	last := func(list []ruleState) []ruleState { return slices.Clone(list[len(list)-1:]) }
	for slot, r := range m.rules {
		if !r.broken || r.running != nil {
			o.rules[slot] = last(o.rules[slot])
		}
	}
	for name, p := range m.parents {
		seen := p == nil || slices.ContainsFunc(slots, func(slot string) bool { return m.clean[unit{slot, name}] != nil })
		if list := o.parents[name]; seen {
			o.parents[name] = slices.Clone(list[len(list)-1:])
		}
	}
	if r := m.rules["r1"].effective(); r != nil && !r.suspend {
		o.prod = []bool{m.prod}
	}
	clear(o.rendered)
}

// wanted tells whether no combination of states since then has the engine delete an object.
func (m *model) wanted(id identity, t *track) bool {
	for _, r := range m.orders.rules[t.slot] {
		for _, p := range m.orders.parents[t.parent] {
			for _, prod := range m.orders.prod {
				if !m.keeps(id, t, r, p, prod) {
					return false
				}
			}
		}
	}
	return true
}

func (m *model) keeps(id identity, t *track, r ruleState, p *parent, prod bool) bool {
	switch {
	case p == nil, t.retained && p.born != t.left:
		return t.orphan || t.retained
	case p.suspend:
		return true
	case r.removed:
		return !r.deletes
	case r.text == nil, r.text.suspend:
		return true
	case !r.text.selects(t.slot, p, prod):
		return t.orphan
	default:
		return t.orphan || m.renders(t.slot, r.text, p)[id]
	}
}

// renders has what a text makes of a parent.
func (m *model) renders(slot string, r *revision, p *parent) map[identity]bool {
	found := m.orders.rendered[pairing{r, p}]
	if found != nil {
		return found
	}
	found = make(map[identity]bool)
	for _, nd := range r.nodes {
		for _, item := range nd.itemsOf(p) {
			found[identity{nd.kind, m.namespaceOf(nd), childName(p.id.name, slot, nd, item)}] = true
		}
	}
	m.orders.rendered[pairing{r, p}] = found
	return found
}

// itemsOf are the items that a node has of a parent; one without a name where it has no
// forEach, and none where its when is false.
func (nd node) itemsOf(p *parent) []string {
	switch {
	case nd.when && !p.show:
		return nil
	case nd.each:
		return p.items
	default:
		return []string{""}
	}
}

// selects tells whether a rule is for a parent.
func (r *revision) selects(slot string, p *parent, prod bool) bool {
	return (slot != "r1" || prod) && (!r.selector || p.tier) && (!r.predicate || p.on)
}
