package lifecycletest_test

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/types"
)

// class is what must be the case of an object once the cluster is at rest.
type class int

const (
	// absent: it must not be there.
	absent class = iota
	// exact: it must be there, with the content that the rule says.
	exact
	// kept: it must be there; nobody may have deleted it.
	kept
	// free: nothing is known, because the order of what happened decides it.
	free
)

func (c class) String() string { return [...]string{"absent", "exact", "kept", "free"}[c] }

// unit is a rule and a parent.
type unit struct{ slot, parent string }

// track is what the model knows of one object that a rule makes, made, or might
// have made.
type track struct {
	unit
	class  class
	values content // where exact
	// steady is true while every state since the last rest wanted the object,
	// which was there then with this uid and this content.
	steady bool
	uid    types.UID
	was    content
	// loose is content that others may have changed and no rule puts right.
	loose bool
	// frozen is content that nobody but a user changes: it stays as it was.
	frozen bool
	// remade is true for what is deleted and recreated when its content changes.
	remade bool
	// blocked is true while a foreign finalizer is on it.
	blocked bool
	// stripped is true while its labels may be gone.
	stripped bool
	// doubtful is true while it may still be a stranger's.
	doubtful bool
	// orphan is true for what stays when it is wanted no more.
	orphan bool
	// retained is true once the object was left behind on purpose.
	retained bool
	// untied is true for what no owner reference ties to the parent.
	untied bool
	// freed is true where the rule must have let it go.
	freed bool
	// left is the parent that left it behind, as it was born.
	left int
	// lost is true for what may have been left behind on purpose.
	lost bool
	// turn names the node where others wait for the object to go.
	turn string
	// ignored is a field that is not compared.
	ignored string
}

// rule is one rule document.
type rule struct {
	name   string    // changes when it is renamed
	names  []string  // all that it had
	text   *revision // as written; nil: there is none
	before *revision // the last text of a rule that was removed
	broken bool      // as written it does not compile
	// running is the last good revision of which it is certain that the engine
	// has it; where broken is false, text counts.
	running *revision
	// deletes is true while a text with onRuleDeletion: Delete may be in force.
	deletes bool
	// unties is true once a text had nodes of which the objects are untied, and
	// renamed once the rule had another name.
	unties, renamed bool
	// finalized is true once a text had spec.finalize.
	finalized bool
	// orphans is true once a text had nodes that leave their objects behind.
	orphans bool
}

// effective is the revision in force; nil where none is, or it is not certain
// which.
func (r *rule) effective() *revision {
	if r.broken {
		return r.running
	}
	return r.text
}

// model is the state of one sequence's inputs, and what must follow.
type model struct {
	names
	parents map[string]*parent // by name; nil: deleted
	rules   map[string]*rule
	look    string // the lookup's value; empty: not there
	prod    bool   // the namespace's label
	tracks  map[identity]*track
	// strangers are objects of children's names that nobody may touch, by UID.
	strangers map[identity]types.UID
	// clean are the units in which nothing is in the way of the status.
	clean map[unit]*revision
	// held are the units in which nothing is pruned.
	held map[unit]bool
	// holds are the units in which the rule must hold the parent.
	holds map[unit]bool
	// silent are the units that must say nothing in the status.
	silent map[unit]bool
	// kinds are those of all parents that there ever were, by name.
	kinds map[string]string
	// targeted is true while there is the object that rules patch.
	targeted bool
	orders   *orders
	// orphaned are the parents of which one was deleted with orphaning, and foreground those of which one was in the foreground.
	orphaned, foreground map[string]bool
	// moved is true once the namespace's label changed since the last rest.
	moved bool
}

func newModel(n names) *model {
	m := &model{
		names: n, parents: make(map[string]*parent), rules: make(map[string]*rule), tracks: make(map[identity]*track),
		strangers: make(map[identity]types.UID), prod: true, kinds: make(map[string]string),
		orders: newOrders(), orphaned: make(map[string]bool), foreground: make(map[string]bool),
	}
	for _, slot := range slots {
		m.rules[slot] = &rule{name: n.prefix + slot, names: []string{n.prefix + slot}}
	}
	return m
}

// mode says what a rule has to do with a parent.
type mode int

const (
	gone     mode = iota // the parent is deleted
	limbo                // the parent is deleted, and may be held by a rule that does not run
	frozen               // everything stays as it is
	removed              // there is no such rule any more
	released             // the rule is not for the parent
	live
)

func (m *model) mode(u unit) mode {
	p, r := m.parents[u.parent], m.rules[u.slot].effective()
	switch {
	case p == nil && m.inLimbo(u.parent):
		return limbo
	case p == nil:
		return gone
	case !p.suspend && m.rules[u.slot].text == nil:
		return removed
	case r == nil, r.suspend, p.suspend:
		return frozen
	case !r.selects(u.slot, p, m.prod):
		return released
	default:
		return live
	}
}

// inLimbo tells whether a deleted parent may be held by a rule that does not run.
func (m *model) inLimbo(parent string) bool {
	for slot, r := range m.rules {
		if r.unties && parentKind(slot) == m.kinds[parent] && (r.text != nil && r.effective() == nil || r.text != nil && r.text.suspend) {
			return true
		}
	}
	return false
}

// update computes the class of every object after a change of the inputs.
func (m *model) update() {
	m.orders.note(m)
	m.clean, m.silent, m.holds = make(map[unit]*revision), make(map[unit]bool), make(map[unit]bool)
	wanted := make(map[identity]*track)
	held := make(map[unit]bool)
	for name := range m.parents {
		for _, slot := range slots {
			u := unit{slot, name}
			if p := m.parents[name]; p != nil && p.id.kind != parentKind(slot) {
				continue
			}
			switch m.mode(u) {
			case live:
				m.want(u, wanted, held)
			case removed:
				m.silent[u] = !m.rules[slot].deletes || !m.pausedBeside(slot)
			case released:
				m.silent[u] = true
			case gone, limbo, frozen:
			}
		}
	}
	for id, w := range wanted {
		if m.tracks[id] == nil {
			// The rule of the old name may make what is wanted since it was renamed.
			m.tracks[id] = &track{unit: w.unit, untied: w.untied, orphan: w.orphan, lost: m.rules[w.slot].renamed}
		}
	}
	for id, t := range m.tracks {
		t.steady = t.steady && m.wanted(id, t)
		m.classify(t, wanted[id], held[t.unit])
	}
	m.held = held
}

// want adds what a rule in force makes of its parent; held is true for a unit in
// which nothing is pruned.
func (m *model) want(u unit, wanted map[identity]*track, held map[unit]bool) {
	p, r := m.parents[u.parent], m.rules[u.slot].effective()
	stuck := make(map[string]bool)
	m.holds[u] = r.finalizes
	for _, nd := range r.nodes {
		waits := nd.looks && m.look == "" && !r.optional || nd.reads && stuck["a"]
		look := m.look
		if look == "" {
			look = "none"
		}
		for _, item := range nd.itemsOf(p) {
			id := identity{nd.kind, m.namespaceOf(nd), childName(p.id.name, u.slot, nd, item)}
			t := &track{unit: u, untied: !r.ties(u.slot, nd), class: exact, values: nd.values(r, p, item, look), frozen: nd.policy == "CreateOnly", remade: nd.remade(), orphan: nd.orphan}
			if nd.ordered {
				t.turn = nd.letter + nd.suffix
			}
			if nd.ignore {
				t.ignored = "free"
			}
			known := m.tracks[id]
			if m.strangers[id] != "" && nd.adopt {
				known = &track{unit: u, doubtful: true}
				m.tracks[id] = known
				delete(m.strangers, id)
			}
			switch {
			case known != nil && known.doubtful && !nd.adopt:
				stuck[nd.letter], held[u] = true, true
				t.class = free
			case m.strangers[id] != "":
				stuck[nd.letter], held[u] = true, true
				continue
			case known != nil && known.blocked && !known.steady:
				stuck[nd.letter], held[u] = true, true
				t.class = free
			case nd.ordered && m.jammed(u, nd.letter+nd.suffix):
				stuck[nd.letter], held[u] = true, true
				t.class = free
			case nd.creates && !p.on && (known == nil || !known.steady || known.stripped):
				t.class = free // as it was
			case nd.updates && !p.on:
				t.class = kept
			case waits:
				stuck[nd.letter], held[u] = true, true
				t.class = kept
			}
			wanted[id] = t
			m.holds[u] = m.holds[u] || t.untied
		}
	}
	if !held[u] && (!r.patches || m.patchesSurely(u.slot)) {
		m.clean[u] = r
	}
}

// classify says what must be the case of an object that is known. w is what a
// rule wants of it, or nil.
func (m *model) classify(t, w *track, held bool) {
	rule, mode := m.rules[t.slot], m.mode(t.unit)
	t.freed = false
	switch {
	case w != nil:
		if w.remade && t.values.String() != w.values.String() {
			t.steady = false
		}
		t.untied = t.untied || w.untied
		t.unit, t.class, t.values, t.frozen, t.remade, t.ignored, t.turn = w.unit, w.class, w.values, w.frozen, w.remade, w.ignored, w.turn
		if w.class == exact {
			t.retained = false
		}
	case t.orphan && (mode == gone || mode == released || mode == live && !held):
		t.class, t.retained, t.lost = kept, true, true
		r := rule.effective()
		t.freed = r != nil && !r.suspend && mode != gone
	case t.orphan && mode == removed:
		t.class, t.lost = free, true
	case t.retained:
		t.class = kept
	case mode == frozen:
		t.class = kept
	case mode == limbo, held && mode == live:
		t.class = free
	case mode == removed && rule.deletes && m.pausedBeside(t.slot):
		t.class, t.lost = free, true // what is deleted waits for the other rule
	case mode == removed && rule.deletes && rule.running == rule.before && rule.before.delete:
		t.class = absent
	case mode == removed && rule.deletes:
		t.class, t.lost = free, true // it is not certain which text the engine had
	case mode == removed:
		t.class = kept
	case mode == gone && rule.text == nil && t.untied:
		t.class, t.lost = free, true
	default:
		t.class = absent
	}
	if t.class == kept && !t.steady {
		t.class = free
	}
	if t.class == absent && (t.blocked || t.turn != "" && m.jammed(t.unit, t.turn) || t.stripped || t.doubtful || t.lost) {
		t.class = free
	}
	if t.class == absent || t.class == free {
		t.steady = false
	}
}

// pausedBeside tells whether another rule for the same kind of parents does not run.
func (m *model) pausedBeside(slot string) bool {
	for other, r := range m.rules {
		runs := r.text == nil || r.effective() != nil && !r.effective().suspend
		if other != slot && parentKind(other) == parentKind(slot) && !runs {
			return true
		}
	}
	return false
}

// jammed tells whether somebody keeps an object of a node of which the others wait for it.
func (m *model) jammed(u unit, turn string) bool {
	for _, t := range m.tracks {
		if t.unit == u && t.turn == turn && t.blocked {
			return true
		}
	}
	return false
}

// stop is the engine's end: which revisions it had is lost.
func (m *model) stop() {
	for _, r := range m.rules {
		r.running = nil
	}
	m.update()
}

// childrenOf lists the objects of a parent.
func (m *model) childrenOf(parent string) []identity {
	var found []identity
	for id, t := range m.tracks {
		if t.parent == parent {
			found = append(found, id)
		}
	}
	return found
}

// unitOf is the unit that an object was made for, by its name.
func (m *model) unitOf(id identity) unit {
	parts := strings.SplitN(id.name, "-", 4)
	if len(parts) < 4 {
		return unit{}
	}
	return unit{slot: parts[2], parent: parts[0] + "-" + parts[1]}
}

func (t *track) String() string {
	return fmt.Sprintf("%s of %s and %s, steady %v, retained %v", t.class, t.slot, t.parent, t.steady, t.retained)
}
