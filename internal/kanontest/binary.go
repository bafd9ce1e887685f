package kanontest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"kanon.dev/kanon/internal/controlplanetest"
)

// BinaryVariable is the environment variable with the path of a kanon to use instead of building one.
const BinaryVariable = "KANON_BINARY"

// The program of this test binary, or why there is none, and its directory. Tests of one package have nothing else in
// common.
//
//nolint:gochecknoglobals // see above
var (
	built = sync.OnceValues(func() (string, error) {
		var err error
		if builtDir, err = os.MkdirTemp("", "kanontest-"); err != nil {
			return "", err
		}
		path := filepath.Join(builtDir, "kanon")
		return path, build(path)
	})
	builtDir string
)

// Main runs the tests of a test binary, stops their shared control plane and removes their program. It returns the exit
// code.
func Main(m *testing.M) int {
	defer removeBuilt()
	return controlplanetest.Main(m)
}

// MainWith is Main for tests whose control plane no other test binary shares.
func MainWith(m *testing.M, o controlplanetest.Options) int {
	defer removeBuilt()
	return controlplanetest.MainWith(m, o)
}

func removeBuilt() {
	if builtDir != "" {
		_ = os.RemoveAll(builtDir) // at worst, it stays in the temporary directory
	}
}

// Binary returns the path of the program. The first call in a test binary builds it, unless the environment names one.
func Binary(tb testing.TB) string {
	tb.Helper()
	if path := os.Getenv(BinaryVariable); path != "" {
		return path
	}
	path, err := built()
	if err != nil {
		tb.Fatal(err)
	}
	return path
}

// Release builds the program as a release of a version, for tests of upgrades.
func Release(tb testing.TB, version string) string {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), "kanon")
	if err := build(path, "-ldflags=-X kanon.dev/kanon/cmd/kanon/internal/cli.release="+version); err != nil {
		tb.Fatal(err)
	}
	return path
}

// build builds the program as make does.
func build(path string, flags ...string) error {
	args := append(append([]string{"build"}, flags...), "-o", path, "kanon.dev/kanon/cmd/kanon")
	if output, err := exec.Command("go", args...).CombinedOutput(); err != nil { //nolint:noctx // bounded by the test's own timeout
		return fmt.Errorf("build kanon: %w\n%s", err, output)
	}
	return nil
}
