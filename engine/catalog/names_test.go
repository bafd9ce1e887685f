package catalog

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"
)

// TestNames: which of several texts a rule's name belongs to. The report on each other text
// says so.
func TestNames(t *testing.T) {
	t.Parallel()
	type origins map[string]int // their ages in seconds; files have a slash in their name
	const broken = -1
	for name, test := range map[string]struct {
		steps []origins
		want  string
	}{
		"the oldest": {[]origins{{"a": 1, "b": 2, "c": 1}}, "b"},
		"the first by name among those of one age": {[]origins{{"b": 1, "a": 1}}, "a"},
		"files come first":                         {[]origins{{"a": 5, "z/file": 0}}, "z/file"},
		"whoever had it keeps it":                  {[]origins{{"b": 1}, {"b": 1, "a": 5, "dir/file": 0}}, "b"},
		"it passes on when its text is deleted":    {[]origins{{"b": 1}, {"b": 1, "a": 1, "c": 2}, {"a": 1, "c": 2}}, "c"},
		"it stays with a text that is broken":      {[]origins{{"b": 1}, {"b": broken}}, "b"},
		"it passes on when its text is broken":     {[]origins{{"b": 1}, {"b": broken, "a": 1}}, "a"},
		"it does not come back":                    {[]origins{{"b": 1}, {"b": broken, "a": 1}, {"b": 1, "a": 1}}, "a"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCluster(t)
			for _, origins := range test.steps {
				c.snapshot.Bundles = nil
				for name, age := range origins {
					text := noteRule
					if age == broken {
						text = "spec: [unclosed\n"
					}
					c.put(name, age, text)
				}
				c.update()
			}
			all := c.Rules()
			if len(all) != 1 || all[0].Origin != originOf(test.want) || all[0].ID != "kanon/note" || all[0].Program == nil {
				t.Fatalf("the rules are %+v, want one from %s", all, test.want)
			}
			for name, age := range test.steps[len(test.steps)-1] {
				report := c.report(name)
				if refused := strings.Contains(report.Message, "a rule's name must be unique"); age != broken && refused == (name == test.want) || report.Ready == refused && age != broken {
					t.Errorf("the report on %s is %s", name, textOf(report))
				}
			}
		})
	}
}

// TestCompleteness: when it is sure which rules exist, and which were removed.
func TestCompleteness(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.recorded = map[string]types.NamespacedName{"kanon/note": {Namespace: "kanon", Name: "note"}}
	check := func(step string, complete, removed bool, rules int) {
		t.Helper()
		c.update()
		if c.IsCompleteIn("kanon") != complete || c.Removed("kanon/note") != removed || len(c.Rules()) != rules {
			t.Errorf("%s: complete is %t, removed %t, and there are %d rules", step, c.IsCompleteIn("kanon"), c.Removed("kanon/note"), len(c.Rules()))
		}
	}
	c.put("one", 1, noteRule)
	c.put("two", 1, edit("name: note", "name: other"))
	check("at first", true, false, 2)
	c.snapshot.Complete = false
	check("a source cannot read all", false, false, 2)
	c.snapshot.Complete = true
	c.put("two", 1, "kind: [broken\n")
	check("a text is broken", false, false, 2)
	c.remove("one")
	check("the rule is in no text, and another text is broken", false, true, 1)
	c.put("one", 1, noteRule)
	check("the rule exists again", false, false, 2)
	c.remove("one")
	c.remove("two")
	check("all are deleted", true, true, 0)
	if c.HasOrigin(originOf("one")) {
		t.Error("the origin exists")
	}
}
