package engine_test

import (
	"encoding/json"
	"strings"
	"testing"

	"kanon.dev/kanon/engine/source"
)

// allReady is how a verdict begins of which every rule is ready.
const allReady = `{"ready":true`

// After a mistake in a rule, the last good revision and the other rules keep running, and
// nothing that exists is deleted. That is so for a child of a kind that the cluster lacks
// as well, which is only a warning. engine/catalog has the table of mistakes.
func TestBadInput(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "Note")
	neighbour := strings.NewReplacer("name: note", "name: neighbour", "spec:\n", "spec:\n  conditionPrefix: Neighbour\n", `"${parent.metadata.name}"`, `"${parent.metadata.name}-neighbour"`).Replace(note("x"))
	w.texts("rules", map[string]string{"rule.yaml": note("x"), "neighbour.yaml": neighbour})
	w.run()
	w.verdict("rules", allReady)
	w.parent("Note", "steady", "{}")
	config := w.await(configMaps, w.home, "steady", "is made", exists)
	w.await(configMaps, w.home, "steady-neighbour", "is made", exists)

	cases := map[string]struct {
		replace []string // in the good rule
		place   string   // line:column
		message string
	}{
		"CEL syntax error":  {replace: []string{"{text: x}", `{text: "${parent.}"}`}, place: "13:30: ", message: "KN0303"},
		"parents it lacks":  {replace: []string{"kind: Note", "kind: Nope"}, place: "6:", message: "Nope"},
		"children it lacks": {replace: []string{"kind: ConfigMap", "kind: ConfigMop"}, place: "11:13: warning: ", message: "ConfigMop"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			w := w.in(t)
			text := strings.NewReplacer(c.replace...).Replace(note("x"))
			if text == note("x") {
				t.Fatal("the case changes nothing")
			}
			w.texts("rules", map[string]string{"rule.yaml": text, "neighbour.yaml": neighbour})
			findings := findingsIn(t, w.verdict("rules", c.message))
			if len(findings) != 1 {
				t.Errorf("%d findings, want one: %q", len(findings), findings)
			}
			if want := "configmap/" + w.kanon + "/rules/rule.yaml:" + c.place; !strings.HasPrefix(findings[0], want) {
				t.Errorf("the finding is %q, want it to begin with %q", findings[0], want)
			}

			// Both rules are at work.
			w.delete(configMaps, w.home, "steady-neighbour")
			w.await(configMaps, w.home, "steady-neighbour", "is put back", exists)
			if live := w.get(configMaps, w.home, "steady"); live.GetUID() != config.GetUID() || field(live, "data", "text") != "x" {
				t.Errorf("what the last good revision made has changed: %v", live.Object)
			}

			w.texts("rules", map[string]string{"rule.yaml": note("x"), "neighbour.yaml": neighbour})
			w.verdict("rules", allReady)
		})
	}
}

// findingsIn lists the findings, one a line, that a report has of the whole and
// of its rules.
func findingsIn(t *testing.T, verdict string) []string {
	t.Helper()
	var report source.Report
	if err := json.Unmarshal([]byte(verdict), &report); err != nil {
		t.Fatalf("the verdict is no JSON: %v: %s", err, verdict)
	}
	text := report.Message
	for _, r := range report.Rules {
		text += "\n" + r.Message
	}
	var findings []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); strings.Contains(line, "error: ") || strings.Contains(line, "warning: the cluster has no kind") {
			findings = append(findings, line)
		}
	}
	return findings
}
