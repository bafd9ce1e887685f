package controlplanetest

import (
	"sync"
	"testing"

	"k8s.io/client-go/rest"
)

// shared is the control plane of this test binary. It is a variable because tests of one package have nothing else in
// common.
var shared sharedPlane //nolint:gochecknoglobals // see above

type sharedPlane struct {
	// mu guards what follows. It is locked while the binary is built and the control plane starts, because every other
	// test has to wait for these.
	mu sync.Mutex

	binary      string
	binaryError error

	plane      *ControlPlane
	planeError error // why there is none, for every test
}

func (s *sharedPlane) findBinary() (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.findBinaryLocked()
}

func (s *sharedPlane) findBinaryLocked() (string, error) {
	if s.binary == "" && s.binaryError == nil {
		s.binary, s.binaryError = buildBinary()
	}
	return s.binary, s.binaryError
}

func (s *sharedPlane) get() (*ControlPlane, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.plane == nil && s.planeError == nil {
		binary, err := s.findBinaryLocked()
		if err != nil {
			s.planeError = err
			return nil, err
		}
		s.plane, s.planeError = start(binary, Options{})
	}
	return s.plane, s.planeError
}

func (s *sharedPlane) stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.plane != nil {
		s.plane.Stop()
		s.plane = nil
	}
}

// Main runs the tests of a test binary and stops their shared control plane. It returns the exit code.
func Main(m *testing.M) int {
	defer shared.stop()
	return m.Run()
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
	plane, err := shared.get()
	if err != nil {
		tb.Fatalf("start the shared control plane: %v", err)
	}
	return plane
}
