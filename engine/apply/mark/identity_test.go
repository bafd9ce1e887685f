package mark

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation"
)

func TestRuleIDIsStableAndDistinct(t *testing.T) {
	// A fixed value: an id that changed between versions would orphan every child.
	if got, want := RuleID("kanon-system", "team-a", "webapp"), "9a393d940ded9191"; got != want {
		t.Errorf("RuleID = %s, want %s", got, want)
	}
	seen := map[string]string{}
	for _, parts := range [][3]string{
		{"a", "b", "c"}, {"ab", "", "c"}, {"a", "bc", ""}, {"", "ab", "c"}, {"a", "b", "c" + strings.Repeat("x", 300)},
	} {
		id := RuleID(parts[0], parts[1], parts[2])
		if other, ok := seen[id]; ok || len(id) != 16 {
			t.Errorf("RuleID%q = %q, also of %q", parts, id, other)
		}
		seen[id] = strings.Join(parts[:], "|")
	}
}

func TestNodeLabel(t *testing.T) {
	for name, node := range map[string]string{
		"plain": "deployment", "long": strings.Repeat("n", 80), "dash at the end": "a-", "not a label": "Käse/2",
		"long with a dash at the cut": strings.Repeat("a", 31) + "-" + strings.Repeat("b", 60),
	} {
		t.Run(name, func(t *testing.T) {
			label := NodeLabel(node)
			if problems := validation.IsValidLabelValue(label); len(problems) > 0 {
				t.Errorf("NodeLabel(%q) = %q: %v", node, label, problems)
			}
			if valid := len(validation.IsValidLabelValue(node)) == 0; valid != (label == node) {
				t.Errorf("NodeLabel(%q) = %q", node, label)
			}
		})
	}
	if NodeLabel(strings.Repeat("n", 80)) == NodeLabel(strings.Repeat("n", 81)) {
		t.Error("two nodes have one label")
	}
}
