package apply

import (
	"os"
	"testing"

	"kanon.dev/kanon/internal/controlplanetest"
)

// TestMain runs the tests without the controllers of workloads. Their writes would be between the requests that a test
// counts.
func TestMain(m *testing.M) {
	os.Exit(controlplanetest.MainWith(m, controlplanetest.Options{Controllers: []string{"garbage-collector", "endpointslice"}, Nodes: new(int)}))
}
