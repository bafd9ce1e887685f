package mark

import (
	"strings"
	"testing"
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
