package controlplanetest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// BinaryVariable is the environment variable with the path of a control plane binary to use instead of building one.
const BinaryVariable = "KANON_CONTROLPLANE"

// NightlyVariable is the environment variable that has tests run that are slow and seldom fail.
const NightlyVariable = "KANON_NIGHTLY"

// Nightly skips a test that is slow and seldom fails, unless the environment asks for it, as `make nightly` does.
func Nightly(tb testing.TB) {
	tb.Helper()
	if os.Getenv(NightlyVariable) == "" {
		tb.Skip("it is slow, and runs with make nightly")
	}
}

// modulePath is the product's module. The Makefile is in its root.
const modulePath = "kanon.dev/kanon"

// Binary returns the path of the control plane binary. The first call in a test binary builds it; several test binaries
// may do so at the same time.
func Binary(tb testing.TB) string {
	tb.Helper()
	path, err := findBinary()
	if err != nil {
		tb.Fatalf("get the control plane binary: %v", err)
	}
	return path
}

// buildBinary builds the binary, unless the environment names one.
func buildBinary() (string, error) {
	if path := os.Getenv(BinaryVariable); path != "" {
		return namedBinary(path)
	}
	root, err := moduleRoot()
	if err != nil {
		return "", err
	}
	bin := filepath.Join(root, "bin")
	if err := os.MkdirAll(bin, 0o755); err != nil {
		return "", fmt.Errorf("make directory: %w", err)
	}
	unlock, err := lockFile(filepath.Join(bin, ".controlplane.lock"))
	if err != nil {
		return "", err
	}
	defer unlock()

	build := exec.Command("make", "-s", "bin/controlplane") //nolint:noctx // bounded by the test's own timeout
	build.Dir = root
	build.Env = buildEnvironment(os.Environ())
	if output, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("make bin/controlplane: %w\n%s", err, output)
	}
	return filepath.Join(bin, "controlplane"), nil
}

// namedBinary checks the path in the environment. It must be absolute, because tests run in the folders of their
// packages.
func namedBinary(path string) (string, error) {
	if !filepath.IsAbs(path) {
		return "", fmt.Errorf("$%s must be an absolute path, is %q", BinaryVariable, path)
	}
	if _, err := os.Stat(path); err != nil {
		return "", fmt.Errorf("$%s: %w", BinaryVariable, err)
	}
	return path, nil
}

// buildEnvironment is the environment without the variables that a make which runs the tests passes to its children.
func buildEnvironment(environment []string) []string {
	return slices.DeleteFunc(environment, func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return name == "MAKEFLAGS" || name == "MFLAGS" || name == "MAKELEVEL"
	})
}

// moduleRoot finds the root of the repository.
func moduleRoot() (string, error) {
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", modulePath).Output() //nolint:noctx // it ends by itself
	if err != nil {
		return "", fmt.Errorf("find the folder of %s: %w", modulePath, err)
	}
	return strings.TrimSpace(string(dir)), nil
}

// lockFile waits for the lock on a file and returns a function that releases it. The end of the process releases it
// too.
func lockFile(path string) (unlock func(), err error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open lock: %w", err)
	}
	for {
		err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX)
		if !errors.Is(err, syscall.EINTR) {
			break
		}
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("lock %s: %w", path, err), file.Close())
	}
	return func() { _ = file.Close() }, nil // closing releases the lock
}
