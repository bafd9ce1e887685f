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
	// patience bounds every wait for a state. It is far above what a healthy Kanon
	// needs on a machine that is busy with other tests: it decides no test.
	patience = 4 * time.Minute
	// stopLimit is how long a Kanon that was told to end may take.
	stopLimit = time.Minute
)

// Process is a running Kanon. Its methods may be called by several goroutines.
type Process struct {
	command *exec.Cmd
	log     *log
	done    chan struct{} // closed when it has ended
	err     error         // how it ended; to be read after done
}

// Start runs kanon with args, waits until it says that it starts, and ends it
// with the test, which fails when it does not end as it should. The log is shown
// when the test has failed.
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

// WithoutPorts has kanon run open no port that the arguments do not name: another one may have it.
func WithoutPorts(args []string) []string {
	if len(args) == 0 || args[0] != "run" {
		return args
	}
	return append([]string{"run", "--health-probe-bind-address=0", "--metrics-bind-address=0"}, args[1:]...)
}

// Launch starts a command that runs kanon and follows what it writes, which counts
// as its log. The caller must Stop it.
func Launch(command *exec.Cmd) (*Process, error) {
	p := &Process{command: command, log: newLog(), done: make(chan struct{})}
	command.Stdout, command.Stderr = p.log, p.log
	command.WaitDelay = time.Second // a child that it left behind may hold its standard error
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

// AwaitLog waits until a line of the log matches a pattern, and returns that
// line. The error says that it did not come in time, or that kanon has ended.
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
			ended = true // one more look: its last words may have come meanwhile
		case <-overdue.C:
			return "", fmt.Errorf("no line that matches %q came in the log of kanon for %s", pattern, patience)
		}
	}
}

// Signal sends a signal.
func (p *Process) Signal(signal syscall.Signal) error { return p.command.Process.Signal(signal) }

// Wait waits for the end. The error is nil if the exit code is 0.
func (p *Process) Wait() error {
	<-p.done
	return p.err
}

// Stop sends SIGTERM, as Kubernetes does, and waits for the end. The error is
// nil when kanon ended in time with exit code 0 and no goroutine's stack in its
// log. It may be called again.
func (p *Process) Stop() error {
	_ = p.command.Process.Signal(syscall.SIGTERM)                                                  // fails only when it has ended
	overdue := time.AfterFunc(stopLimit, func() { _ = p.command.Process.Signal(syscall.SIGQUIT) }) // shows where it hangs
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
