package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// startTestProcess starts a component from the test binary.
func startTestProcess(t *testing.T, name string, args ...string) *process {
	t.Helper()
	executable, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p, err := startProcess(executable, t.TempDir(), name, args)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.stop(0) })
	return p
}

// startIdleProcess starts a component that runs until it is ended: the garbage
// collector, whose API server is not there.
func startIdleProcess(t *testing.T) *process {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := writeKubeconfig(path, (&credentials{}).kubeconfig("https://127.0.0.1:1", "nobody")); err != nil {
		t.Fatal(err)
	}
	return startTestProcess(t, garbageCollectorName, "--kubeconfig="+path)
}

// ended fails the test when the process does not end.
func ended(t *testing.T, p *process) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	select {
	case <-p.exited:
	case <-ctx.Done():
		t.Fatalf("%s still runs", p.name)
	}
}

func TestProcessEndsWithLifeline(t *testing.T) {
	p := startIdleProcess(t)
	if err := p.lifeline.Close(); err != nil {
		t.Fatal(err)
	}
	ended(t, p)
}

func TestProcessStops(t *testing.T) {
	tests := map[string]time.Duration{"asked": time.Minute, "killed": 0}
	for name, grace := range tests {
		t.Run(name, func(t *testing.T) {
			p := startIdleProcess(t)
			p.stop(grace)
			select {
			case <-p.exited:
			default:
				t.Error("stop returned before the process had ended")
			}
		})
	}
}

func TestProcessDies(t *testing.T) {
	p := startTestProcess(t, kwokName, "--no-such-flag")
	ended(t, p)
	said := p.died().Error()
	for _, want := range []string{"kwok ended by itself: exit status 1", p.logFile, "unknown flag: --no-such-flag"} {
		if !strings.Contains(said, want) {
			t.Errorf("the error is %q, want %q in it", said, want)
		}
	}
}

func TestProcessReady(t *testing.T) {
	p := startIdleProcess(t)
	refusal := errors.New("not yet")
	t.Run("in the end", func(t *testing.T) {
		asked := 0
		err := p.ready(t.Context(), time.Minute, func(context.Context) error {
			if asked++; asked < 3 {
				return refusal
			}
			return nil
		})
		if err != nil || asked != 3 {
			t.Errorf("error %v after %d questions, want none after 3", err, asked)
		}
	})
	t.Run("not in time", func(t *testing.T) {
		err := p.ready(t.Context(), 100*time.Millisecond, func(context.Context) error { return refusal })
		if !errors.Is(err, refusal) || !strings.Contains(err.Error(), "garbage-collector did not get ready in 100ms") {
			t.Errorf("error %v, want one that names the component and holds %q", err, refusal)
		}
	})
	t.Run("given up", func(t *testing.T) {
		cause := errors.New("another component ended")
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(cause)
		if err := p.ready(ctx, time.Minute, func(context.Context) error { return refusal }); !errors.Is(err, cause) {
			t.Errorf("error %v, want %v", err, cause)
		}
	})
}

func TestTailOf(t *testing.T) {
	line := strings.Repeat("x", 100) + "\n"
	tests := map[string]struct {
		content string
		lines   int
	}{
		"empty":      {"", 1},
		"short":      {"one\ntwo\n", 2},
		"many lines": {strings.Repeat(line, 1000), tailLines},
		"long lines": {strings.Repeat(strings.Repeat("y", tailBytes/2)+"\n", 10), 2},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "log")
			if err := os.WriteFile(path, []byte(test.content), 0o600); err != nil {
				t.Fatal(err)
			}
			tail, err := tailOf(path)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.HasSuffix(strings.TrimRight(test.content, "\n"), tail) {
				t.Errorf("%q is not the end of the file", tail)
			}
			if got := strings.Count(tail, "\n") + 1; got != test.lines {
				t.Errorf("%d lines, want %d", got, test.lines)
			}
		})
	}
}

func TestRunCommand(t *testing.T) {
	if err := runProgram(t.Context(), []string{"true"}); err != nil {
		t.Error(err)
	}
	if err := runProgram(t.Context(), []string{"false"}); err == nil {
		t.Error("a command that fails counts as a success")
	}
}
