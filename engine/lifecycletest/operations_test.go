package lifecycletest_test

import (
	"cmp"
	"math/rand/v2"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// operation does something to a sequence's inputs, or nothing where it does not
// apply.
type operation func(s *sequence, random *rand.Rand) error

type weightedOperation struct {
	weight int
	do     operation
}

// beginning is how each sequence starts.
var beginning = []operation{
	func(s *sequence, _ *rand.Rand) error { return s.setProd(true) },
	(*sequence).editRule, (*sequence).editRule, (*sequence).moveParent, (*sequence).moveParent, (*sequence).moveLook, (*sequence).makeTarget,
}

// operations are what may happen, and how often.
var operations = []weightedOperation{
	{24, (*sequence).moveParent},
	{12, (*sequence).editRule},
	{4, (*sequence).breakRule},
	{3, (*sequence).dropRule},
	{3, (*sequence).moveRule},
	{6, (*sequence).moveLook},
	{4, (*sequence).moveNamespace},
	{16, (*sequence).harmChild},
	{4, (*sequence).freeChild},
	{4, (*sequence).moveStranger},
	{3, (*sequence).moveTarget},
}

func oneOf[T any](random *rand.Rand, values ...T) T { return values[random.IntN(len(values))] }

func chance(random *rand.Rand, percent int) bool { return random.IntN(100) < percent }

var colors = []string{"red", "green", "blue", "grey"}

// newParent draws a parent.
func (s *sequence) newParent(name string, random *rand.Rand) *parent {
	p := &parent{id: identity{item, s.home, s.prefix + name}, color: oneOf(random, colors...), on: chance(random, 80), show: chance(random, 70), tier: chance(random, 80)}
	if name == "h0" {
		p.id.kind, p.id.namespace = hub, ""
	}
	p.items = drawItems(random)
	return p
}

func drawItems(random *rand.Rand) []string {
	items := []string{"a", "b", "c", "d"}
	random.Shuffle(len(items), func(i, j int) { items[i], items[j] = items[j], items[i] })
	return items[:random.IntN(len(items)+1)]
}

// moveParent creates, changes or deletes a parent.
func (s *sequence) moveParent(random *rand.Rand) error {
	name := oneOf(random, "p0", "p0", "p1", "h0")
	p := s.model.parents[s.prefix+name]
	if p == nil {
		return s.createParent(s.newParent(name, random))
	}
	change := func(f func(*parent)) error { return s.changeParent(p.id.name, f) }
	what := random.IntN(14)
	if what > 10 && p.suspend { // what holds it would hold it for ever
		what = 10
	}
	switch what {
	case 0, 1, 2:
		return change(func(p *parent) { p.color = oneOf(random, colors...) })
	case 3, 4:
		return change(func(p *parent) { p.show = !p.show })
	case 5:
		return change(func(p *parent) { p.on = !p.on })
	case 6, 7:
		return change(func(p *parent) { p.items = drawItems(random) })
	case 8, 9:
		return change(func(p *parent) { p.tier = !p.tier })
	case 10:
		return change(func(p *parent) { p.suspend = !p.suspend })
	case 11:
		if err := s.deleteParent(p.id.name, metav1.DeletePropagationBackground); err != nil {
			return err
		}
		s.model.update()
		return s.createParent(s.newParent(name, random))
	default:
		policy := oneOf(random, metav1.DeletePropagationBackground, metav1.DeletePropagationBackground,
			metav1.DeletePropagationForeground, metav1.DeletePropagationOrphan)
		return s.deleteParent(p.id.name, policy)
	}
}

// editRule writes a rule, new or changed.
func (s *sequence) editRule(random *rand.Rand) error {
	slot := oneOf(random, "r0", "r0", "r1", "r2")
	if before := s.model.rules[slot].text; before != nil && chance(random, 20) {
		next := *before
		next.suspend, next.version = !before.suspend, s.newVersion()
		return s.writeRule(slot, &next, false)
	}
	r := &revision{version: s.newVersion(), selector: chance(random, 30), predicate: chance(random, 30), optional: chance(random, 50), suspend: chance(random, 5), delete: chance(random, 30), patches: slot != "r1" && chance(random, 40), finalizes: chance(random, 15)}
	loose := chance(random, 50)
	for _, nd := range vocabulary {
		if nd.loose(slot) && !loose {
			continue
		}
		if !chance(random, 45) && nd.letter != "a" || nd.remade() && !chance(random, 3) {
			continue
		}
		nd.when = nd.letter != "a" && chance(random, 40)
		nd.adopt = chance(random, 10)
		if chance(random, 15) {
			nd.suffix = "x"
		}
		r.nodes = append(r.nodes, nd)
	}
	return s.writeRule(slot, r, false)
}

// vocabulary is what rules are made of.
var vocabulary = []node{
	{letter: "a", kind: configMap},
	{letter: "b", kind: configMap, reads: true},
	{letter: "c", kind: secret},
	{letter: "d", kind: service},
	{letter: "e", kind: configMap, each: true},
	{letter: "f", kind: thing},
	{letter: "g", kind: configMap, looks: true},
	{letter: "h", kind: thing, each: true, reads: true},
	{letter: "i", kind: configMap, policy: "CreateOnly"},
	{letter: "k", kind: configMap, ignore: true},
	{letter: "q", kind: configMap, policy: "Recreate"},
	{letter: "r", kind: configMap, policy: "ApplyOrRecreate", immutable: true},
	{letter: "s", kind: configMap, orphan: true},
	{letter: "t", kind: configMap, creates: true},
	{letter: "u", kind: configMap, updates: true},
	{letter: "v", kind: configMap, each: true, ordered: true},
	{letter: "m", kind: configMap, away: true},
	{letter: "n", kind: beacon},
	{letter: "o", kind: secret, away: true, each: true},
}

// breakRule makes a rule one that does not compile, or mends it.
func (s *sequence) breakRule(random *rand.Rand) error {
	slot := oneOf(random, slots...)
	r := s.model.rules[slot]
	if r.text == nil {
		return nil
	}
	text := *r.text
	text.version = s.newVersion()
	return s.writeRule(slot, &text, !r.broken)
}

func (s *sequence) dropRule(random *rand.Rand) error {
	return s.removeRule(oneOf(random, slots...))
}

// moveRule gives a rule another name, if its end leaves the children where they are;
// what was left behind would not come back to another rule.
func (s *sequence) moveRule(random *rand.Rand) error {
	slot, first := oneOf(random, slots...), chance(random, 50)
	if r := s.model.rules[slot]; r.text == nil || r.broken || r.running != r.text || r.text.delete || r.orphans {
		return nil
	}
	for _, t := range s.model.tracks {
		if t.slot == slot && (t.retained || t.lost) {
			return nil
		}
	}
	return s.renameRule(slot, first)
}

func (s *sequence) moveLook(random *rand.Rand) error {
	return s.setLook(oneOf(random, "one", "two", ""))
}

// moveNamespace relabels the namespace, once between two rests: nothing in the
// cluster tells when the engine has seen it.
func (s *sequence) moveNamespace(*rand.Rand) error {
	if s.model.moved {
		return nil
	}
	return s.setProd(!s.model.prod)
}

// someTrack draws an object that a rule wants, by the order of names.
func (s *sequence) someTrack(random *rand.Rand, fits func(*track) bool) (identity, *track) {
	var found []identity
	for id, t := range s.model.tracks {
		if fits(t) && s.model.strangers[id] == "" {
			found = append(found, id)
		}
	}
	if len(found) == 0 {
		return identity{}, nil
	}
	slices.SortFunc(found, func(a, b identity) int { return cmp.Compare(a.String(), b.String()) })
	id := found[random.IntN(len(found))]
	return id, s.model.tracks[id]
}

// harmChild does to a child what users do.
func (s *sequence) harmChild(random *rand.Rand) error {
	id, t := s.someTrack(random, func(t *track) bool { return (t.class == exact || t.class == kept) && !t.retained })
	if t == nil {
		return nil
	}
	switch random.IntN(6) {
	case 0, 1:
		s.note("edit %s", id)
		t.loose = true
		path := "spec"
		value := map[string]any{"color": "edited"}
		switch id.kind {
		case configMap:
			path = "data"
		case secret:
			path = "data"
			value["color"] = "ZWRpdGVk"
		case service:
			value = map[string]any{"selector": value}
		}
		_, err := s.patch(id, map[string]any{path: value})
		return err
	case 2:
		s.note("delete %s", id)
		t.steady = false
		return s.delete(id, metav1.DeletePropagationBackground)
	case 3:
		s.note("strip the labels of %s", id)
		t.stripped = true
		_, err := s.patch(id, map[string]any{"metadata": map[string]any{"labels": nil}})
		return err
	case 4:
		if t.untied {
			return nil // then nothing says whose it is
		}
		s.note("strip the annotations of %s", id)
		t.stripped = true
		_, err := s.patch(id, map[string]any{"metadata": map[string]any{"annotations": nil}})
		return err
	default:
		answer, err := s.patch(id, map[string]any{"metadata": map[string]any{"finalizers": []any{foreignFinalizer}}})
		if answer != nil {
			s.note("hold %s", id)
			t.blocked = true
		}
		return err
	}
}

func (s *sequence) freeChild(random *rand.Rand) error {
	id, t := s.someTrack(random, func(t *track) bool { return t.blocked })
	if t == nil {
		return nil
	}
	return s.unblock(id)
}

// moveStranger puts an object where a child may come to be, or takes one away.
func (s *sequence) moveStranger(random *rand.Rand) error {
	if len(s.model.strangers) > 0 && chance(random, 60) {
		return s.removeStrangers()
	}
	nd := vocabulary[random.IntN(3)]
	id := identity{nd.kind, s.home, childName(s.prefix+oneOf(random, "p0", "p1"), oneOf(random, "r0", "r1"), nd, "")}
	if s.model.tracks[id] != nil {
		return nil
	}
	made, taken, err := s.create(s.lane.t.Context(), &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": s.apiVersion(nd.kind), "kind": nd.kind, "metadata": map[string]any{"name": id.name, "namespace": id.namespace},
		map[string]string{configMap: "data", secret: "stringData"}[nd.kind]: map[string]any{"stranger": "true"},
	}})
	if err != nil || taken {
		return err
	}
	s.note("a stranger takes the name %s", id)
	s.model.strangers[id] = made.GetUID()
	return nil
}
