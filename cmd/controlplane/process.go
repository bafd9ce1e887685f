package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

const (
	// tailLines and tailBytes bound the part of a component's log in an error.
	tailLines = 25
	tailBytes = 16 << 10
)

// process is a component that runs as a child process.
type process struct {
	name    string
	logFile string
	cmd     *exec.Cmd
	// lifeline is the child's standard input. Nothing is written to it; the child exits when it is closed.
	lifeline io.WriteCloser
	// exited is closed once the child has been waited for. Only then may exitError be read.
	exited    chan struct{}
	exitError error
}

// startProcess starts one component. Its output goes to NAME.log in logDir.
func startProcess(executable, logDir, name string, args []string) (*process, error) {
	logFile := filepath.Join(logDir, name+".log")
	log, err := os.OpenFile(logFile, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open log of %s: %w", name, err)
	}
	defer log.Close() //nolint:errcheck // the child has its own copy

	line := append([]string{"--" + untilStdinCloses, name}, args...)
	cmd := exec.Command(executable, line...) //nolint:noctx // ended by stop, in the order in which components depend on one another
	cmd.Stdout = log
	cmd.Stderr = log
	// Ctrl-C at a terminal signals the whole process group. The children have groups of their own, so that they are
	// stopped in order.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	lifeline, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("make lifeline of %s: %w", name, err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}

	p := &process{name: name, logFile: logFile, cmd: cmd, lifeline: lifeline, exited: make(chan struct{})}
	go func() {
		defer close(p.exited)
		p.exitError = cmd.Wait()
	}()
	return p, nil
}

// stop asks the child to end, kills it after the grace period (immediately if that is 0), and waits until it has ended.
func (p *process) stop(grace time.Duration) {
	if grace == 0 {
		p.kill()
	} else if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		p.kill()
	}
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-p.exited:
	case <-timer.C:
		p.kill()
		<-p.exited
	}
	_ = p.lifeline.Close() // usually closed already by Wait
}

func (p *process) kill() {
	_ = p.cmd.Process.Kill() // fails only if it has ended already
}

// died waits for the unexpected end of the child, and describes it.
func (p *process) died() error {
	<-p.exited
	cause := p.exitError
	if cause == nil {
		cause = errors.New("exit status 0")
	}
	return p.failure(fmt.Errorf("ended by itself: %w", cause))
}

// failure adds the component and the end of its log to a cause.
func (p *process) failure(cause error) error {
	tail, err := tailOf(p.logFile)
	if err != nil {
		return fmt.Errorf("%s %w (its log cannot be shown: %w)", p.name, cause, err)
	}
	return fmt.Errorf("%s %w\n--- the end of %s ---\n%s", p.name, cause, p.logFile, tail)
}

// ready polls check until it returns nil. It returns the cause if ctx ends, and check's last error after the limit.
func (p *process) ready(ctx context.Context, limit time.Duration, check func(context.Context) error) error {
	const interval = 20 * time.Millisecond
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	ticker := time.NewTicker(interval)
	defer ticker.Stop()

	last := errors.New("was not asked yet")
	for {
		select {
		case <-limited.Done():
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			return p.failure(fmt.Errorf("did not get ready in %s: %w", limit, last))
		case <-ticker.C:
		}
		err := check(limited)
		if err == nil {
			return nil
		}
		if limited.Err() == nil { // otherwise the error is only about the limit
			last = err
		}
	}
}

// tailOf returns the last lines of a file.
func tailOf(path string) (string, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("read log: %w", err)
	}
	data = data[max(0, len(data)-tailBytes):]
	lines := strings.Split(strings.TrimRight(string(data), "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-tailLines):], "\n"), nil
}
