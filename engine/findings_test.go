package engine_test

import (
	"strings"
	"testing"
)

// A rule that cannot be read whole is told all that is wrong with it at once, and
// nothing of it is run.
func TestAllFindingsAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.define("Note")
	text := strings.NewReplacer("id: config", "id: config\n    wen: ${true}", "{text: x}", `{text: "${parnt.metadata.name}"}`).Replace(note("x"))
	w.texts("rules", map[string]string{"rule.yaml": text})
	w.run()
	findings := findingsIn(t, w.verdict("rules", "parnt"))
	if len(findings) != 2 || !strings.HasSuffix(findings[0], "[KN0101]") || !strings.HasSuffix(findings[1], "[KN0204]") {
		t.Errorf("the findings are %q", findings)
	}
}
