package kanontest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"kanon.dev/kanon/internal/controlplanetest"
)

// built is the program of this test binary. There is one per process because
// tests of one package have nothing else in common that could carry it.
var built program //nolint:gochecknoglobals // see above

// program is built at its first use.
type program struct {
	mu sync.Mutex // guards what follows; held while the program is built, because every other test has to wait for just that

	dir string
	err error // the reason why there is none, given to every test
}

// Main runs the tests of a test binary, ends the control plane that they shared
// and removes the program that they ran. It returns the exit code.
func Main(m *testing.M) int {
	defer built.remove()
	return controlplanetest.Main(m)
}

// Binary returns the path of the program, which it builds at the first call of a
// test binary, with the settings of the Makefile and the Dockerfile.
func Binary(tb testing.TB) string {
	tb.Helper()
	path, err := built.path()
	if err != nil {
		tb.Fatalf("build kanon: %v", err)
	}
	return path
}

func (p *program) path() (string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.dir == "" && p.err == nil {
		p.dir, p.err = build()
	}
	return filepath.Join(p.dir, "kanon"), p.err
}

func (p *program) remove() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.dir != "" {
		_ = os.RemoveAll(p.dir) // left behind in the temporary directory at worst
	}
}

// build builds the program in a new directory.
func build() (dir string, err error) {
	dir, err = os.MkdirTemp("", "kanontest-")
	if err != nil {
		return "", fmt.Errorf("make directory: %w", err)
	}
	command := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", dir, "kanon.dev/kanon/cmd/kanon") //nolint:noctx // bounded by the test's own timeout
	command.Env = append(os.Environ(), "CGO_ENABLED=0")
	if output, err := command.CombinedOutput(); err != nil {
		return "", errors.Join(fmt.Errorf("%w\n%s", err, output), os.RemoveAll(dir))
	}
	return dir, nil
}
