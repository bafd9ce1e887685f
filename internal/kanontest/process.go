package kanontest

import (
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

const (
	// patience bounds every wait for a state. It is far above what a healthy Kanon needs on a busy machine, so it
	// decides no test.
	patience = 4 * time.Minute
	// stopLimit is how long Kanon may take to end.
	stopLimit = time.Minute
)

// Process is a running Kanon. Its methods may be called by several goroutines.
type Process struct {
	command *exec.Cmd
	log     *log
	done    chan struct{} // closed when the process has ended
	err     error         // the result of the process; valid after done is closed
}

// Start runs kanon with args, waits until it logs its start, and stops it at the end of the test. The test fails if
// kanon does not end properly. The log is shown if the test failed.
func Start(tb testing.TB, args ...string) *Process {
	tb.Helper()
	return StartProgram(tb, Binary(tb), args...)
}

// StartProgram is Start for another program than that of Binary.
func StartProgram(tb testing.TB, path string, args ...string) *Process {
	tb.Helper()
	p, err := Launch(exec.Command(path, WithoutPorts(args)...)) //nolint:noctx // ended by Stop
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := p.Stop(); err != nil {
			tb.Error(err)
		}
		if tb.Failed() {
			tb.Logf("the log of kanon:\n%s", p.Log())
		}
	})
	if _, err := p.AwaitLog(regexp.MustCompile("Kanon starts")); err != nil {
		tb.Fatal(err)
	}
	return p
}

// WithoutPorts adds arguments so that kanon run opens no ports that args do not name: they may be in use.
func WithoutPorts(args []string) []string {
	if len(args) == 0 || args[0] != "run" {
		return args
	}
	return append([]string{"run", "--health-probe-bind-address=0", "--metrics-bind-address=0"}, args[1:]...)
}

// Launch starts a command that runs kanon. Its output counts as its log. The caller must Stop it.
func Launch(command *exec.Cmd) (*Process, error) {
	p := &Process{command: command, log: newLog(), done: make(chan struct{})}
	command.Stdout, command.Stderr = p.log, p.log
	command.WaitDelay = time.Second // a child may keep its standard error open
	endWithParent(command)
	if err := command.Start(); err != nil {
		return nil, fmt.Errorf("start kanon: %w", err)
	}
	go func() {
		defer close(p.done)
		p.err = command.Wait()
	}()
	return p, nil
}

// Log is what kanon has written so far.
func (p *Process) Log() string { return p.log.String() }

// AwaitLog waits for a line of the log that matches a pattern, and returns it. The error reports a timeout, or the end
// of kanon.
func (p *Process) AwaitLog(pattern *regexp.Regexp) (line string, err error) {
	overdue := time.NewTimer(patience)
	defer overdue.Stop()
	for ended := false; ; {
		text, more := p.log.read()
		for line := range strings.Lines(text) {
			if line = strings.TrimSuffix(line, "\n"); pattern.MatchString(line) {
				return line, nil
			}
		}
		if ended {
			return "", fmt.Errorf("kanon has ended without a line that matches %q in its log", pattern)
		}
		select {
		case <-more:
		case <-p.done:
			ended = true // read once more: its last lines may just have come
		case <-overdue.C:
			return "", fmt.Errorf("no line that matches %q came in the log of kanon for %s", pattern, patience)
		}
	}
}

// Signal sends a signal to kanon.
func (p *Process) Signal(signal syscall.Signal) error { return p.command.Process.Signal(signal) }

// Wait waits for the end. The error is nil if the exit code is 0.
func (p *Process) Wait() error {
	<-p.done
	return p.err
}

// Stop sends SIGTERM, as Kubernetes does, and waits for the end. The error is nil if kanon ended in time, with exit
// code 0 and without a goroutine's stack in its log. Stop may be called again.
func (p *Process) Stop() error {
	_ = p.command.Process.Signal(syscall.SIGTERM)                                                  // fails only if the process has ended
	overdue := time.AfterFunc(stopLimit, func() { _ = p.command.Process.Signal(syscall.SIGQUIT) }) // prints the stacks
	defer overdue.Stop()
	<-p.done
	var errs []error
	if p.err != nil {
		errs = append(errs, fmt.Errorf("kanon ended with: %w", p.err))
	}
	if strings.Contains(p.Log(), "\ngoroutine ") {
		errs = append(errs, errors.New("kanon wrote a goroutine's stack into its log"))
	}
	return errors.Join(errs...)
}
