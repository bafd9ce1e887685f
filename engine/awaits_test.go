package engine_test

import (
	"testing"

	"kanon.dev/kanon/engine/queue"
)

// Each event that a key may wait for has a test in which a key waits for it and is enqueued by it. The tests are named
// as functions, so that none can be removed or renamed unnoticed.
func TestEveryAwaitedEventComes(t *testing.T) {
	t.Parallel()
	shownBy := map[queue.Event]func(*testing.T){
		queue.RuleStarts:       TestRestart,
		queue.InformerSyncs:    TestLookups,
		queue.InputChanges:     TestMissingNamespace,
		queue.NamespaceChanges: TestNamespaceSelectorOverARestartAndAnEdit,
		queue.Resumes:          TestSuspendedParent,
		queue.ChildEnds:        TestForegroundDeletionAwaitsTheEnd,
		queue.TargetIsWritten:  TestParentThatIsHeldAwaitsItsPatches,
		queue.PauseEnds:        TestContestedField,
		queue.RightsChange:     TestRightsThatAreMissing,
	}
	for _, event := range queue.Events() {
		if shownBy[event] == nil {
			t.Errorf("no test shows that %q comes", event)
		}
	}
}
