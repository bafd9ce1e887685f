package conditions

import (
	"os"
	"strings"
	"testing"
)

// Each reason of a condition or an Event is explained to users.
func TestReasonsAreExplained(t *testing.T) {
	t.Parallel()
	docs, err := os.ReadFile("../../docs/reference/status.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, reason := range reasons() {
		if !strings.Contains(string(docs), "`"+reason+"`") {
			t.Errorf("docs/reference/status.md does not explain the reason %s", reason)
		}
	}
}
