package docs

import (
	"strings"
	"testing"
)

// What the page says of a function is its section, or its row of a table; a function of a schedule is a part of one.
func TestFunction(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"merge":        "`merge(map, map, …) → map`\n\nMerges two to eight maps",
		"now":          "`now`\n\nThe time of the evaluation",
		"between":      "`schedule.between(from, to, max) → list(timestamp)`\n\n",
		"join":         "`list.join(sep)`: the strings joined\n\n```cel\n[\"a\", \"b\"].join(\"-\")\n// = \"a-b\"\n```\n",
		"math.abs":     "`math.abs(x)`: the absolute value\n\n```cel\nmath.abs(-5)\n// = 5\n```\n",
		"abs":          "`math.abs(x)`: the absolute value\n\n",
		"transformMap": "`map.transformMap(k, v, value)`: a map with the same keys\n\n",
		"optionalIf":   "`optionalIf(cond, value) → optional`\n\n",
	} {
		if got, ok := Function(name); !ok || !strings.HasPrefix(got, want) {
			t.Errorf("%s: %q", name, got)
		}
	}
	for _, name := range []string{"", "Function", "nothing", "list", "Conversions"} {
		if got, ok := Function(name); ok {
			t.Errorf("%s: %q", name, got)
		}
	}
	if got, _ := Function("merge"); strings.Contains(got, "### ") || strings.Contains(got, "deepMerge") {
		t.Errorf("the section of merge goes on:\n%s", got)
	}
	if got, _ := Function("reverse"); strings.Count(got, "```cel") != 2 {
		t.Errorf("reverse is for strings and for lists:\n%s", got)
	}
}
