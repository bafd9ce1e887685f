package lifecycletest_test

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kanon.dev/kanon/engine/apply/mark"
)

// contentOf is what an object has where its kind keeps a flat map.
func contentOf(obj *unstructured.Unstructured) content {
	path := []string{"spec"}
	switch obj.GetKind() {
	case configMap, secret:
		path = []string{"data"}
	case service:
		path = []string{"spec", "selector"}
	}
	values, _, _ := unstructured.NestedMap(obj.Object, path...)
	c := content{}
	for key, value := range values {
		text := fmt.Sprint(value)
		if obj.GetKind() == secret {
			plain, _ := base64.StdEncoding.DecodeString(text)
			text = string(plain)
		}
		c[key] = text
	}
	return c
}

// hopeless begins what no time can heal.
const hopeless = "for good: "

// judge compares what there is with what must be; it returns the differences,
// one a line, sorted.
func (m *model) judge(objects map[identity]*unstructured.Unstructured, records map[string]bool) []string {
	diff := m.judgeRecords(records)
	diff = append(diff, m.judgeTarget(objects[m.target()])...)
	for id, t := range m.tracks {
		diff = append(diff, t.judge(id, objects[id])...)
	}
	for id, obj := range objects {
		diff = append(diff, m.judgeOther(id, obj)...)
	}
	for id, uid := range m.strangers {
		if obj := objects[id]; obj == nil || obj.GetUID() != uid || contentOf(obj)["stranger"] != "true" || len(contentOf(obj)) != 1 {
			diff = append(diff, fmt.Sprintf("%s is a stranger's and was touched", id))
		}
	}
	for name, p := range m.parents {
		if p != nil && objects[p.id] == nil {
			diff = append(diff, fmt.Sprintf("%s is gone", p.id))
		}
		for _, slot := range slots {
			if p != nil && parentKind(slot) == p.id.kind {
				diff = append(diff, m.judgeStatus(unit{slot, name}, objects[p.id])...)
			}
		}
	}
	slices.Sort(diff)
	return diff
}

func (t *track) judge(id identity, obj *unstructured.Unstructured) []string {
	switch {
	case t.class == free:
		return nil
	case t.class == absent:
		if obj != nil {
			return []string{fmt.Sprintf("%s must not be there (%s)", id, t)}
		}
		return nil
	case obj == nil:
		return []string{fmt.Sprintf("%s is missing (%s)", id, t)}
	case t.steady && obj.GetUID() != t.uid:
		return []string{fmt.Sprintf(hopeless+"%s was deleted though it was wanted all the time (%s)", id, t)}
	case obj.GetDeletionTimestamp() != nil:
		return []string{fmt.Sprintf("%s is being deleted (%s)", id, t)}
	case t.class == kept && t.freed && !t.stripped:
		return judgeFreed(id, obj)
	case t.class == kept:
		return nil
	}
	var diff []string
	if _, owned := mark.ReadOwner(obj); !owned || obj.GetLabels()[mark.LabelRule] == "" {
		diff = append(diff, fmt.Sprintf("%s is not marked", id))
	}
	want := t.values
	if t.frozen {
		if !t.steady || t.loose {
			return diff
		}
		want = t.was
	}
	got := contentOf(obj)
	for key, value := range want {
		if key != t.ignored && got[key] != value {
			return append(diff, fmt.Sprintf("%s has %s, want %s (%s)", id, got, want, t))
		}
	}
	for key := range got {
		if _, there := want[key]; !there && key != t.ignored && key != "stranger" {
			return append(diff, fmt.Sprintf("%s has %s, want %s (%s)", id, got, want, t))
		}
	}
	return diff
}

// judgeOther looks at an object that no track is about.
func (m *model) judgeOther(id identity, obj *unstructured.Unstructured) []string {
	if m.tracks[id] != nil || m.strangers[id] != "" || id == m.lookup() || id == m.target() {
		return nil
	}
	if m.stays(id, m.unitOf(id)) {
		return nil
	}
	if id.kind == item || id.kind == hub {
		if m.parents[id.name] == nil && !m.lingers(id.name) {
			return []string{fmt.Sprintf("%s was deleted and is still there, with finalizers %v", id, obj.GetFinalizers())}
		}
		return nil
	}
	return []string{fmt.Sprintf("%s is nobody's", id)}
}

// stays tells whether an object of a unit that no state of the inputs asked for
// stays all the same: inputs that changed shortly after another may have met in
// the engine as they never did here.
func (m *model) stays(id identity, u unit) bool {
	r := m.rules[u.slot]
	if r == nil {
		return false
	}
	if r.orphans && strings.HasSuffix(id.name, "-s") {
		return true
	}
	if strings.HasSuffix(id.name, "-"+lastWords) && (m.orphaned[u.parent] || m.lingers(u.parent) || r.text == nil) {
		return true
	}
	switch m.mode(u) {
	case frozen, removed, limbo:
		return true
	case live:
		return m.held[u] || r.renamed
	default:
		return r.renamed || r.text == nil && r.unties
	}
}

// lingers tells whether something may keep a parent that was deleted. A child that somebody keeps does so only where the deletion
// waits for the end of children: in the foreground, and of a rule that finalizes.
func (m *model) lingers(parent string) bool {
	for _, t := range m.tracks {
		if t.blocked && t.parent == parent && (m.foreground[parent] || m.rules[t.slot].finalized) {
			return true
		}
	}
	return m.inLimbo(parent)
}

// judgeStatus compares what a rule says in a parent's status, which is also how
// the engine tells that it has seen the last of it.
func (m *model) judgeStatus(u unit, obj *unstructured.Unstructured) []string {
	if obj == nil {
		return nil
	}
	said, _, _ := unstructured.NestedStringMap(obj.Object, "status", u.slot)
	conditions, _, _ := unstructured.NestedSlice(obj.Object, "status", "conditions")
	var ready map[string]any
	var diff []string
	for _, c := range conditions {
		condition, _ := c.(map[string]any)
		name, _ := condition["type"].(string)
		if name == prefixOf(u.slot)+"Ready" {
			ready = condition
		}
		if m.silent[u] && strings.HasPrefix(name, prefixOf(u.slot)) {
			diff = append(diff, fmt.Sprintf("%s still has a condition of %s: %v", obj.GetName(), u.slot, condition))
		}
	}
	if m.silent[u] && len(said) > 0 {
		diff = append(diff, fmt.Sprintf("%s still has a status of %s: %v", obj.GetName(), u.slot, said))
	}
	if m.silent[u] {
		for _, mark := range marksOf(obj, m.idOf(u.slot)) {
			diff = append(diff, fmt.Sprintf("%s still has %s of %s", obj.GetName(), mark, u.slot))
		}
	}
	held := slices.Contains(obj.GetFinalizers(), "kanon.dev/rule-"+m.idOf(u.slot))
	if held && m.silent[u] {
		diff = append(diff, fmt.Sprintf("%s still has the finalizer of %s", obj.GetName(), u.slot))
	}
	r := m.clean[u]
	if r == nil {
		return diff
	}
	if held != m.holds[u] {
		diff = append(diff, fmt.Sprintf("%s has the finalizer of %s: %v, want %v", obj.GetName(), u.slot, held, m.holds[u]))
	}
	want := content{"version": r.version, "color": m.parents[u.parent].color}
	if got := content(said); got.String() != want.String() {
		diff = append(diff, fmt.Sprintf("%s has the status %s of %s, want %s", obj.GetName(), got, u.slot, want))
	}
	if ready == nil || ready["status"] != "True" || ready["observedGeneration"] != obj.GetGeneration() {
		diff = append(diff, fmt.Sprintf("%s is not ready for %s: generation %d, %v", obj.GetName(), u.slot, obj.GetGeneration(), conditions))
	}
	return diff
}

// remember takes what there is at rest as the point to start from.
func (m *model) remember(objects map[identity]*unstructured.Unstructured) {
	for id, t := range m.tracks {
		obj := objects[id]
		switch {
		case obj != nil && (t.class == exact || t.class == kept):
			t.steady, t.uid, t.was, t.loose = true, obj.GetUID(), contentOf(obj), false
			if t.class == exact {
				t.stripped, t.doubtful, t.lost = false, false, false
			}
		case obj == nil && t.class == absent:
			delete(m.tracks, id)
		}
	}
	for id := range objects {
		if u := m.unitOf(id); m.tracks[id] == nil && m.strangers[id] == "" && m.stays(id, u) {
			r := m.rules[u.slot]
			m.tracks[id] = &track{unit: u, class: free, untied: r.unties, lost: r.renamed || r.orphans || r.unties}
		}
	}
	for _, r := range m.rules {
		r.renamed = false
		if r.text != nil && !r.broken {
			r.running, r.deletes = r.text, r.text.delete
		}
	}
	m.moved = false
	m.orders.forget(m)
}
