package kanontest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"kanon.dev/kanon/internal/controlplanetest"
)

// built is the program of this test binary. It is a variable because tests of one package have nothing else in common.
var built program //nolint:gochecknoglobals // see above

// program is built at its first use.
type program struct {
	mu sync.Mutex // guards what follows; locked during the build, because every other test has to wait for it

	dir string
	err error // why there is none, for every test
}

// Main runs the tests of a test binary, stops their shared control plane and removes their program. It returns the exit
// code.
func Main(m *testing.M) int {
	defer built.remove()
	return controlplanetest.Main(m)
}

// Binary returns the path of the program. The first call in a test binary builds it with the command of the Dockerfile,
// so that tests run what is shipped.
func Binary(tb testing.TB) string {
	tb.Helper()
	path, err := built.path()
	if err != nil {
		tb.Fatalf("build kanon: %v", err)
	}
	return path
}

// Release builds the program as a release of a version, for tests of upgrades.
func Release(tb testing.TB, version string) string {
	tb.Helper()
	dir, err := build("VERSION=" + version)
	if err != nil {
		tb.Fatalf("build kanon: %v", err)
	}
	tb.Cleanup(func() { _ = os.RemoveAll(dir) }) // at worst, it stays in the temporary directory
	return filepath.Join(dir, "kanon")
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
		_ = os.RemoveAll(p.dir) // at worst, it stays in the temporary directory
	}
}

// build builds the program in a new directory.
func build(environment ...string) (dir string, err error) {
	root, err := moduleRoot()
	if err != nil {
		return "", err
	}
	dockerfile, err := os.ReadFile(filepath.Join(root, "Dockerfile"))
	if err != nil {
		return "", fmt.Errorf("find the build command: %w", err)
	}
	dir, err = os.MkdirTemp("", "kanontest-")
	if err != nil {
		return "", fmt.Errorf("make directory: %w", err)
	}
	line, err := buildCommand(string(dockerfile), filepath.Join(dir, "kanon"))
	if err != nil {
		return "", errors.Join(err, os.RemoveAll(dir))
	}
	command := exec.Command("sh", "-c", line) //nolint:noctx // bounded by the test's own timeout
	command.Dir, command.Env = root, append(os.Environ(), environment...)
	if output, err := command.CombinedOutput(); err != nil {
		return "", errors.Join(fmt.Errorf("%s: %w\n%s", line, err, output), os.RemoveAll(dir))
	}
	return dir, nil
}

// moduleRoot is the root of the repository.
func moduleRoot() (string, error) {
	output, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}").Output() //nolint:noctx // reads go.mod and ends
	if err != nil {
		return "", fmt.Errorf("find the root of the repository: %w", err)
	}
	return strings.TrimSpace(string(output)), nil
}

// buildCommand returns the command of a Dockerfile that builds /kanon, with another path for the result.
func buildCommand(dockerfile, path string) (string, error) {
	const output = " -o /kanon "
	for line := range strings.Lines(dockerfile) {
		command, ok := strings.CutPrefix(strings.TrimSpace(line), "RUN ")
		if ok && strings.Contains(command, "go build") && strings.Contains(command, output) {
			return strings.Replace(command, output, " -o '"+path+"' ", 1), nil
		}
	}
	return "", errors.New("no line of the Dockerfile has RUN, go build and" + output)
}
