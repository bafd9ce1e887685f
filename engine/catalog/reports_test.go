package catalog

import (
	"strings"
	"testing"

	"kanon.dev/kanon/engine/source"
)

// TestFindings: each mistake is one finding with its place. The last good revision and the
// other rules keep running. A child of a kind that the cluster lacks is only a warning.
func TestFindings(t *testing.T) {
	t.Parallel()
	const otherChild = `
  - id: other
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: "${parent.metadata.name}-other"}
      data: {x: "${children.config.data.text}"}`
	for name, test := range map[string]struct {
		text  string
		place string // line:column
		part  string
	}{
		"unknown field":            {edit("id: config", "id: config\n    wen: ${true}"), "9:5: ", "wen"},
		"CEL syntax error":         {edit("{text: x}", `{text: "${parent.}"}`), "13:30: ", "KN0303"},
		"unknown id":               {edit("{text: x}", `{text: "${children.nobody.data.x}"}`), "13:32: ", "nobody"},
		"cycle":                    {edit("{text: x}", `{text: "${children.other.data.x}"}`+otherChild), "8:9: ", "→"},
		"template without kind":    {edit("      kind: ConfigMap\n", ""), "10:7: ", "kind"},
		"template without name":    {edit(`{name: "${parent.metadata.name}"}`, "{}"), "12:17: ", "metadata.name"},
		"not YAML":                 {"a: b: c\n", "1:5: ", "not YAML"},
		"parents it lacks":         {edit("kind: Note", "kind: Nope"), "6:", "Nope"},
		"children it lacks":        {edit("kind: ConfigMap", "kind: ConfigMop"), "11:13: warning: ", "ConfigMop"},
		"template without version": {edit("      apiVersion: v1\n", ""), "10:7: ", "apiVersion"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCluster(t)
			other := edit("name: note", "name: other", "spec:\n", "spec:\n  conditionPrefix: Other\n", `"${parent.metadata.name}"`, `"${parent.metadata.name}-other"`)
			c.put("one", 1, noteRule, other)
			c.update()
			if report := c.report("one"); !report.Ready || report.Message != "rules in force: 2" {
				t.Fatalf("the report is %s", textOf(report))
			}
			c.put("one", 1, test.text, other)
			c.update()
			report := c.report("one")
			findings := findingsIn(report)
			if len(findings) != 1 || !strings.Contains(findings[0], "one/0.yaml:"+test.place) || !strings.Contains(findings[0], test.part) {
				t.Errorf("the findings are %q, want one with %q and %q", findings, test.place, test.part)
			}
			if report.Ready != strings.Contains(test.place, "warning") {
				t.Errorf("ready is %t", report.Ready)
			}
			if c.running() == "" || len(c.Rules()) != 2 || c.Rules()[1].Program == nil {
				t.Error("a rule was stopped")
			}
		})
	}
}

// TestAllFindingsAtOnce: a rule that cannot be decoded whole has all its findings in one
// report, and nothing of it runs.
func TestAllFindingsAtOnce(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.put("one", 1, edit("id: config", "id: config\n    wen: ${true}", "{text: x}", `{text: "${parnt.metadata.name}"}`))
	c.update()
	findings := findingsIn(c.report("one"))
	if len(findings) != 2 || !strings.HasSuffix(findings[0], "[KN0101]") || !strings.HasSuffix(findings[1], "[KN0204]") || len(c.Rules()) != 0 {
		t.Errorf("the findings are %q, and there are %d rules", findings, len(c.Rules()))
	}
}

// findingsIn lists the errors of a report, and the kinds that are missing, one a line.
func findingsIn(report source.Report) []string {
	var findings []string
	for line := range strings.Lines(textOf(report)) {
		if line = strings.TrimSpace(line); strings.Contains(line, "error: ") || strings.Contains(line, "warning: the cluster has no kind") {
			findings = append(findings, line)
		}
	}
	return findings
}

// TestReports: what the report on an origin says as a whole.
func TestReports(t *testing.T) {
	t.Parallel()
	sameConditions := edit("name: note", "name: rival", `"${parent.metadata.name}"`, `"${parent.metadata.name}-rival"`)
	for name, test := range map[string]struct {
		prepare func(c *cluster)
		failing map[string]Failure
		ready   bool
		report  string
		reason  string // of the first rule
	}{
		"no documents": {func(c *cluster) { c.put("one", 1) }, nil, false, "no key of it ends in .yaml or .yml: it has no rule documents", ""},
		"no rules":     {func(c *cluster) { c.put("one", 1, "# nothing\n") }, nil, true, "no rules", ""},
		"one rule":     {func(c *cluster) { c.put("one", 1, noteRule) }, nil, true, "rules in force: 1\nnote: running", ""},
		"one of two": {
			func(c *cluster) {
				c.put("one", 1, noteRule, edit("name: note", "name: other", "spec:\n", "spec:\n  conditionPrefix: Other\n", "{text: x}", `{text: "${nobody}"}`))
			}, nil, false,
			"1 of 2 rules are not running as written: other\nnote: running\nother: ", "",
		},
		"a rule that cannot start": {
			func(c *cluster) { c.put("one", 1, noteRule) },
			map[string]Failure{"kanon/note": {Message: "it cannot start: forbidden"}},
			false,
			"1 of 1 rules are not running as written: note\nnote: it cannot start: forbidden", "",
		},
		"a rule that waits for somebody": {
			func(c *cluster) { c.put("one", 1, noteRule) },
			map[string]Failure{"kanon/note": {Reason: "PruneHeld", Message: "PruneHeld: x"}},
			false,
			"1 of 1 rules are not running as written: note\nnote: PruneHeld: x", "PruneHeld",
		},
		"a mistake counts more than a failure": {
			func(c *cluster) { c.put("one", 1, edit("{text: x}", `{text: "${nobody}"}`)) },
			map[string]Failure{"kanon/note": {Reason: "PruneHeld", Message: "x"}},
			false,
			"1 of 1 rules are not running as written: note\nnote: one/0.yaml:13:", "",
		},
		"conditions that another rule sets": {func(c *cluster) {
			c.schemas[noteKind].Fields = nil
			c.schemas[noteKind].Open = true
			c.put("one", 1, noteRule)
			c.put("two", 1, sameConditions)
		}, nil, true, "rule rival is for objects of kind Note too", ""},
		"no conditions on the parents": {func(c *cluster) { c.put("one", 1, noteRule); c.put("two", 1, sameConditions) }, nil, true, "rules in force: 1\nnote: running", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCluster(t)
			test.prepare(c)
			c.update()
			reports, _ := c.Reports(nil, test.failing, c.now)
			report := reports[originOf("one")]
			if report.Ready != test.ready || !strings.Contains(textOf(report), test.report) {
				t.Errorf("the report, with ready %t, is %s", report.Ready, textOf(report))
			}
			if len(report.Rules) > 0 && report.Rules[0].Reason != test.reason {
				t.Errorf("the reason is %q", report.Rules[0].Reason)
			}
		})
	}
}

// TestClip: a report that is too long ends with a whole line.
func TestClip(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ text, want string }{
		"short":              {"one\ntwo", "one\ntwo"},
		"long":               {"one\ntwo\nthree", "one\ntwo\n…"},
		"one line":           {"one two three", "one two t\n…"},
		"within a character": {"one two …", "one two \n…"},
	} {
		if got := clip(test.text, 9); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}
