package lifecycletest_test

import (
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/util/retry"

	"kanon.dev/kanon/engine/source"
)

// fenceText names a text, and the rule in it, that tells by its verdict that the engine has
// seen all texts that were written before.
func (s *sequence) fenceText() (text, rule string) {
	return s.prefix + "fence", fmt.Sprintf("%sfence-%d", s.prefix, s.fences)
}

// fence writes that text, if a rule was written since the last one. The rule is for no parent that there is.
func (s *sequence) fence() error {
	if !s.ruled {
		return nil
	}
	s.ruled = false
	s.fences++
	name, rule := s.fenceText()
	return s.writeText(name, fmt.Sprintf(`{"apiVersion": "kanon.dev/v1alpha1", "kind": "Rule", "metadata": {"name": %q},
		"spec": {"suspend": true, "parent": {"apiVersion": "%s/v1", "kind": %q, "namespaces": [%q]}, "status": {"fence": "x"}}}`,
		rule, s.group, item, s.kanon))
}

// ruleNames are the names of the rules that there are, or were last.
func (s *sequence) ruleNames() []string {
	var found []string
	for _, slot := range slots {
		found = append(found, s.model.rules[slot].name)
	}
	return found
}

// writeText writes a ConfigMap of rules, new or changed.
func (s *sequence) writeText(name, text string) error {
	ctx := s.lane.t.Context()
	rules := s.lane.at(configMap, s.kanon)
	obj := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": map[string]any{"name": name, "namespace": s.kanon, "labels": map[string]any{source.LabelRules: "true"}},
		"data":     map[string]any{"rule.yaml": text},
	}}
	err := retry.RetryOnConflict(retry.DefaultRetry, func() error { // Kanon may be writing its verdict
		live, err := rules.Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			_, err = rules.Create(ctx, obj, metav1.CreateOptions{})
			return err
		}
		if err != nil {
			return err
		}
		live.Object["data"] = obj.Object["data"]
		_, err = rules.Update(ctx, live, metav1.UpdateOptions{})
		return err
	})
	if err != nil {
		return fmt.Errorf("write rules %s: %w", name, err)
	}
	return nil
}

// writeRule writes a rule's ConfigMap, new or changed.
func (s *sequence) writeRule(slot string, r *revision, broken bool) error {
	known := s.model.rules[slot]
	if err := s.writeText(known.name, s.text(known.name, slot, r, broken)); err != nil {
		return err
	}
	s.note("rule %s, %s, is %v, broken %v", slot, known.name, *r, broken)
	s.ruled = true
	if known.text == nil || broken && !known.broken && known.running != known.text {
		known.running = nil // it is not certain which text is in force
	}
	if known.text == nil && known.before != nil {
		for _, t := range s.model.tracks {
			if t.slot == slot {
				t.lost = true // a rule that is back knows of no kind that it had before
			}
		}
	}
	known.text, known.broken = r, broken
	known.deletes = known.deletes || r.delete
	known.finalized = known.finalized || r.finalizes
	known.unties = known.unties || r.finalizes || slices.ContainsFunc(r.nodes, func(nd node) bool { return nd.loose(slot) })
	known.orphans = known.orphans || slices.ContainsFunc(r.nodes, func(nd node) bool { return nd.orphan })
	if broken && s.lane.end == nil {
		known.running = nil
	}
	return nil
}

func (s *sequence) removeRule(slot string) error {
	r := s.model.rules[slot]
	if r.text == nil {
		return nil
	}
	if err := s.removeText(r.name); err != nil {
		return err
	}
	s.note("rule %s is removed", slot)
	s.ruled = true
	r.before, r.text, r.broken = r.text, nil, false
	return nil
}

func (s *sequence) removeText(name string) error {
	err := s.lane.at(configMap, s.kanon).Delete(s.lane.t.Context(), name, metav1.DeleteOptions{})
	if err != nil {
		return fmt.Errorf("remove rule %s: %w", name, err)
	}
	return nil
}

// renameRule gives a rule another name. What it makes is taken over; what it makes
// no more may be left behind.
func (s *sequence) renameRule(slot string, first bool) error {
	r := s.model.rules[slot]
	text := *r.text
	text.version = s.newVersion()
	before := r.name
	r.name += "y"
	r.names = append(r.names, r.name)
	if first {
		if err := s.writeRule(slot, &text, false); err != nil {
			return err
		}
	}
	if err := s.removeText(before); err != nil {
		return err
	}
	s.note("rule %s is removed", before)
	r.renamed, r.running = true, nil
	for _, t := range s.model.tracks {
		if t.slot == slot {
			t.lost = true
		}
	}
	if first {
		return nil
	}
	return s.writeRule(slot, &text, false)
}

func (s *sequence) newVersion() string {
	s.versions++
	return fmt.Sprintf("v%d", s.versions)
}
