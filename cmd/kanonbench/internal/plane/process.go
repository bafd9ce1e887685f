package plane

import (
	"errors"
	"fmt"
	"io"
	"os/exec"
	"syscall"
	"time"
)

// stopLimit is the time for a process to end after SIGTERM.
const stopLimit = time.Minute

// Process is a running process.
type Process struct {
	// Stdout is the standard output of the process, if ProcessOptions.ReadStdout is true.
	Stdout io.Reader

	command *exec.Cmd
	done    chan struct{} // closed when the process has ended
	err     error         // how the process ended; valid after done
}

// ProcessOptions are the settings of a process.
type ProcessOptions struct {
	// Stderr receives the standard error. nil: it is discarded.
	Stderr io.Writer
	// ReadStdout makes Process.Stdout readable. Otherwise standard output goes to Stderr.
	ReadStdout bool
}

// StartProcess starts a program. The program is killed if this process ends without calling Stop.
func StartProcess(o ProcessOptions, program string, args ...string) (*Process, error) {
	p := &Process{command: exec.Command(program, args...), done: make(chan struct{})} //nolint:noctx // ended by Stop
	p.command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	p.command.WaitDelay = time.Second // an orphaned grandchild may keep the output open
	p.command.Stdout, p.command.Stderr = o.Stderr, o.Stderr
	if o.ReadStdout {
		var err error
		p.command.Stdout = nil
		if p.Stdout, err = p.command.StdoutPipe(); err != nil {
			return nil, fmt.Errorf("make pipe: %w", err)
		}
	}
	if err := p.command.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", program, err)
	}
	go func() {
		defer close(p.done)
		p.err = p.command.Wait()
	}()
	return p, nil
}

// PID is the process ID.
func (p *Process) PID() int { return p.command.Process.Pid }

// Done is closed when the process has ended for whatever reason.
func (p *Process) Done() <-chan struct{} { return p.done }

// Err is how the process ended. It is valid after Done.
func (p *Process) Err() error {
	if p.err != nil {
		return p.err
	}
	return errors.New("it has ended, with exit code 0")
}

// Stop sends SIGTERM, and SIGKILL after stopLimit, and waits for the end. It returns an error if the process has ended
// before.
func (p *Process) Stop() error {
	select {
	case <-p.done:
		return fmt.Errorf("it ended before it was asked to: %w", p.Err())
	default:
	}
	_ = p.command.Process.Signal(syscall.SIGTERM) // fails only if the process has ended
	overdue := time.AfterFunc(stopLimit, func() { _ = p.command.Process.Kill() })
	defer overdue.Stop()
	<-p.done
	if p.err != nil {
		return fmt.Errorf("it did not end well: %w", p.err)
	}
	return nil
}
