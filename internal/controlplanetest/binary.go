package controlplanetest

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
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

// modulePath is the product's module. The Makefile is in its root.
const modulePath = "kanon.dev/kanon"

// Binary returns the path of the control plane binary. The first call in a test binary builds it; several test binaries
// may do so at the same time.
func Binary(tb testing.TB) string {
	tb.Helper()
	path, err := shared.findBinary()
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

// moduleRoot finds the root of the repository, from the working directory upwards.
func moduleRoot() (string, error) {
	start, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("find working directory: %w", err)
	}
	for dir := start; ; dir = filepath.Dir(dir) {
		content, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err == nil && bytes.HasPrefix(content, []byte("module "+modulePath+"\n")) {
			return dir, nil
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", fmt.Errorf("read go.mod: %w", err)
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("no folder from %s up holds the go.mod of %s", start, modulePath)
		}
	}
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
