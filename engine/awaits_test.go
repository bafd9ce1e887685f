package engine_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"kanon.dev/kanon/engine/queue"
)

// Each event that a key may wait for has a test in which a key waits for it and is enqueued by it.
func TestEveryAwaitedEventComes(t *testing.T) {
	t.Parallel()
	shownBy := map[queue.Event]string{
		queue.RuleStarts:       "TestRestart",
		queue.InformerSyncs:    "TestLookups",
		queue.InputChanges:     "TestMissingNamespace",
		queue.NamespaceChanges: "TestNamespaceSelectorOverARestartAndAnEdit",
		queue.Resumes:          "TestSuspendedParent",
		queue.ChildEnds:        "TestForegroundDeletionAwaitsTheEnd",
		queue.TargetIsWritten:  "TestParentThatIsHeldAwaitsItsPatches",
		queue.PauseEnds:        "TestContestedField",
		queue.RightsChange:     "TestRightsThatAreMissing",
	}
	files, err := filepath.Glob("*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	var tests strings.Builder
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		tests.Write(text)
	}
	for _, event := range queue.Events() {
		if name := shownBy[event]; name == "" || !strings.Contains(tests.String(), "func "+name+"(") {
			t.Errorf("no test shows that %q comes; its name here is %q", event, name)
		}
	}
}
