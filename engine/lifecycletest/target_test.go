package lifecycletest_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Rules patch one object of somebody's, all parents the same one: each takes a value of its
// own there and adds another.

// target is the object that rules patch.
func (n names) target() identity { return identity{thing, n.home, n.prefix + "target"} }

// original is what a taken field had before.
const original = "orig"

// keysOf are the fields that a unit takes, and adds.
func (u unit) keys() (taken, added string) {
	return u.parent + "." + u.slot, u.parent + "." + u.slot + ".new"
}

// patchText is the patch of a rule.
func (n names) patchText(slot string) map[string]any {
	taken, added := unit{slot, "${parent.metadata.name}"}.keys()
	return map[string]any{
		"id":       "target",
		"target":   map[string]any{"apiVersion": n.apiVersion(thing), "kind": thing, "name": n.target().name, "namespace": n.home},
		"template": map[string]any{"spec": map[string]any{taken: "${parent.spec.color}", added: "${parent.spec.color}"}},
	}
}

// originals is what the target has of its own.
func (n names) originals() map[string]any {
	data := map[string]any{}
	for _, parent := range []string{"p0", "p1", "h0"} {
		for _, slot := range slots {
			taken, _ := unit{slot, n.prefix + parent}.keys()
			data[taken] = original
		}
	}
	return data
}

// makeTarget has the target be there.
func (s *sequence) makeTarget(*rand.Rand) error {
	id := s.target()
	_, taken, err := s.create(s.lane.t.Context(), &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": s.apiVersion(id.kind), "kind": id.kind, "metadata": map[string]any{"name": id.name, "namespace": id.namespace},
		"spec": s.originals(),
	}})
	if err == nil && !taken {
		s.note("there is a target")
	}
	s.model.targeted = true
	return err
}

// moveTarget takes the target away, or puts it back.
func (s *sequence) moveTarget(random *rand.Rand) error {
	if !s.model.targeted {
		return s.makeTarget(random)
	}
	s.note("there is no target any more")
	s.model.targeted = false
	return s.delete(s.target(), metav1.DeletePropagationBackground)
}

// patchesSurely tells whether it is known of all parents what a rule's patch sets, and where.
func (m *model) patchesSurely(slot string) bool {
	r := m.rules[slot].effective()
	sure := m.targeted && (m.rules[slot].text == nil || r != nil && !r.suspend)
	return sure && !slices.ContainsFunc(m.parentsOf(slot), func(p *parent) bool { return p.suspend })
}

// judgeTarget compares the target with what the rules must have made of it.
func (m *model) judgeTarget(obj *unstructured.Unstructured) []string {
	if !m.targeted || obj == nil {
		if m.targeted != (obj != nil) {
			return []string{fmt.Sprintf("the target is there: %v", obj != nil)}
		}
		return nil
	}
	var diff []string
	got, patched := contentOf(obj), false
	for name, kind := range m.kinds {
		for _, slot := range slots {
			u := unit{slot, name}
			if kind != parentKind(slot) {
				continue
			}
			want, certain := m.patchOf(u)
			patched = patched || want != "" || !certain
			taken, added := u.keys()
			wantTaken := want
			if want == "" {
				wantTaken = original
			}
			if certain && (got[taken] != wantTaken || got[added] != want) {
				diff = append(diff, fmt.Sprintf("the target has %q and %q of %s and %s, want %q and %q", got[taken], got[added], slot, name, wantTaken, want))
			}
		}
	}
	if patched {
		return diff
	}
	for key := range obj.GetAnnotations() {
		if strings.HasPrefix(key, "kanon.dev/") {
			diff = append(diff, fmt.Sprintf("nothing patches the target, and it has the annotation %s", key))
		}
	}
	for _, entry := range obj.GetManagedFields() {
		if strings.HasPrefix(entry.Manager, "kanon-patch-") {
			diff = append(diff, fmt.Sprintf("nothing patches the target, and it has the manager %s", entry.Manager))
		}
	}
	return diff
}

// patchOf is what a rule sets in the target for a parent; empty for nothing.
func (m *model) patchOf(u unit) (value string, certain bool) {
	if !m.patchesSurely(u.slot) {
		return "", false
	}
	switch r := m.rules[u.slot].effective(); m.mode(u) {
	case live:
		if !r.patches {
			return "", m.clean[u] != nil
		}
		return m.parents[u.parent].color, m.clean[u] != nil
	case released, removed, gone:
		return "", true
	default:
		return "", false
	}
}
