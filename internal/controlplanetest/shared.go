package controlplanetest

import (
	"os"
	"sync"
	"testing"

	"k8s.io/client-go/rest"
)

// SharedVariable is the environment variable with the directory of a control plane that runs already, for the test
// binaries of several packages: its kubeconfig file is the file kubeconfig in it.
const SharedVariable = "KANON_SHARED_CONTROLPLANE"

// The binary and the control plane of this test binary, or why there is none. Tests of one package have nothing else in
// common.
//
//nolint:gochecknoglobals // see above
var (
	findBinary = sync.OnceValues(buildBinary)
	shared     = sync.OnceValues(startShared)
	// started is set by shared, for Main. ownOptions are those of an own control plane; nil if one that runs already will
	// do. Only MainWith sets them.
	started    *ControlPlane
	ownOptions *Options
)

func startShared() (*ControlPlane, error) {
	binary, err := findBinary()
	if err != nil {
		return nil, err
	}
	switch dir := os.Getenv(SharedVariable); {
	case ownOptions != nil:
		started, err = start(binary, *ownOptions)
	case dir != "":
		started, err = join(binary, dir)
	default:
		started, err = start(binary, Options{})
	}
	return started, err
}

// Main runs the tests of a test binary and stops their shared control plane, unless other test binaries share it, too.
// It returns the exit code.
func Main(m *testing.M) int {
	defer func() {
		if started != nil {
			started.Stop()
		}
	}()
	return m.Run()
}

// MainWith is Main for tests whose shared control plane has options, and that share it with no other test binary.
func MainWith(m *testing.M, o Options) int {
	ownOptions = &o
	return Main(m)
}

// Config returns the administrator's client configuration for the shared control plane, without a rate limit. The
// caller may change it.
func Config(tb testing.TB) *rest.Config {
	tb.Helper()
	return rest.CopyConfig(sharedControlPlane(tb).Config)
}

// Kubeconfig returns the path of the shared control plane's kubeconfig file.
func Kubeconfig(tb testing.TB) string {
	tb.Helper()
	return sharedControlPlane(tb).Kubeconfig
}

// Kubectl returns the path of a kubectl of the shared control plane's version.
func Kubectl(tb testing.TB) string {
	tb.Helper()
	return sharedControlPlane(tb).Kubectl
}

// Complaints returns the last warnings and errors of a component of the shared control plane. See
// [ControlPlane.Complaints].
func Complaints(tb testing.TB, component string, limit int) string {
	tb.Helper()
	said, err := sharedControlPlane(tb).Complaints(component, limit)
	if err != nil {
		tb.Fatal(err)
	}
	return said
}

func sharedControlPlane(tb testing.TB) *ControlPlane {
	tb.Helper()
	plane, err := shared()
	if err != nil {
		tb.Fatalf("start the shared control plane: %v", err)
	}
	return plane
}
