package controlplanetest

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"go.uber.org/goleak"
)

// small are the settings with the fewest processes.
func small() Options {
	return Options{Controllers: []string{"garbage-collector", "namespace"}, Nodes: new(int)}
}

// TestNothingIsLeft shows that all processes end with the control plane, also
// when it has no chance to end them.
func TestNothingIsLeft(t *testing.T) {
	Nightly(t)
	tests := map[string]struct {
		options    Options
		components int
		end        func(*ControlPlane)
	}{
		"stop":    {small(), 4, (*ControlPlane).Stop},
		"SIGTERM": {small(), 4, func(p *ControlPlane) { signalAndWait(t, p, syscall.SIGTERM) }},
		"SIGKILL": {Options{}, 6, func(p *ControlPlane) { signalAndWait(t, p, syscall.SIGKILL) }},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			// What a killed one leaves in its directory goes with the test.
			test.options.Dir = t.TempDir()
			before := goleak.IgnoreCurrent()
			plane := Start(t, test.options)
			goleak.VerifyNone(t, before) // or tests could not look for leaks of their own
			root := plane.command.Process.Pid
			components := children(t, root)
			if len(components) != test.components {
				t.Errorf("%d components run, want %d: %+v", len(components), test.components, components)
			}
			test.end(plane)
			waitEnded(t, root)
			for _, component := range components {
				waitEnded(t, component.pid)
			}
		})
	}
}

// signalAndWait does not care how the process ends.
func signalAndWait(t *testing.T, p *ControlPlane, signal os.Signal) {
	t.Helper()
	if err := p.command.Process.Signal(signal); err != nil {
		t.Fatal(err)
	}
	_ = p.command.Wait()
}

// TestComponentDies shows that the control plane ends, and says why, when one of
// its components does. It is one that no other needs, so that none can end before
// the first is missed.
func TestComponentDies(t *testing.T) {
	Nightly(t)
	plane := Start(t, small())
	components := children(t, plane.command.Process.Pid)
	i := slices.IndexFunc(components, func(c observed) bool { return strings.Contains(c.command, " kube-controller-manager ") })
	if i < 0 {
		t.Fatalf("none of %+v is the controller manager", components)
	}
	if err := syscall.Kill(components[i].pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	var exit *exec.ExitError
	if err := plane.command.Wait(); !errors.As(err, &exit) || exit.ExitCode() != 1 {
		t.Errorf("the control plane ended with %v, want exit status 1", err)
	}
	said, err := os.ReadFile(filepath.Join(plane.dir, "stderr"))
	if err != nil {
		t.Fatal(err)
	}
	if want := "kube-controller-manager ended by itself: signal: killed"; !strings.Contains(string(said), want) {
		t.Errorf("its error is %q, want %q in it", said, want)
	}
}

// TestFailingStart shows that a control plane that cannot start says why.
func TestFailingStart(t *testing.T) {
	tests := map[string]struct {
		options Options
		want    []string
	}{
		"wrong argument of a component": {
			options: Options{APIArgs: []string{"--no-such-flag"}},
			want:    []string{"kube-apiserver ended by itself", "kube-apiserver.log", "unknown flag: --no-such-flag"},
		},
		"unknown controller": {
			options: Options{Controllers: []string{"nonsense"}},
			want:    []string{`unknown controller "nonsense"`, "garbage-collector-controller"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			plane, err := start(Binary(t), test.options)
			if err == nil {
				plane.Stop()
				t.Fatal("it started")
			}
			for _, want := range test.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("the error does not tell of %q:\n%v", want, err)
				}
			}
		})
	}
}

func TestLockFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	unlock, err := lockFile(path)
	if err != nil {
		t.Fatal(err)
	}
	other, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = other.Close() }()
	tryLock := func() error { return syscall.Flock(int(other.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) }
	if err := tryLock(); !errors.Is(err, syscall.EWOULDBLOCK) {
		t.Errorf("a second lock gave %v, want %v", err, syscall.EWOULDBLOCK)
	}
	unlock()
	if err := tryLock(); err != nil {
		t.Errorf("a lock after the first was released gave %v", err)
	}
}

func TestNamedBinary(t *testing.T) {
	present := filepath.Join(t.TempDir(), "controlplane")
	if err := os.WriteFile(present, nil, 0o700); err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		path string
		ok   bool
	}{
		"present":  {present, true},
		"relative": {"bin/controlplane", false},
		"absent":   {present + "-2", false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Setenv(BinaryVariable, test.path)
			path, err := buildBinary()
			if ok := err == nil; ok != test.ok {
				t.Fatalf("error %v, want one: %v", err, !test.ok)
			}
			if test.ok && path != test.path {
				t.Errorf("binary %q, want %q", path, test.path)
			}
		})
	}
}
