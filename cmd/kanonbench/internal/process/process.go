package process

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"
)

// stopLimit is the time for a process to end after SIGTERM.
const stopLimit = time.Minute

// Process is a running process.
type Process struct {
	// Stdin is the standard input of the process, for the caller to write. Stop closes it.
	Stdin io.WriteCloser
	// Stdout is the standard output of the process, if Options.ReadStdout is true.
	Stdout io.Reader

	command *exec.Cmd
	done    chan struct{} // closed when the process has ended
	err     error         // how the process ended; valid after done
	stop    sync.Once
	asked   error // the result of Stop
}

// Options are the settings of a process.
type Options struct {
	// Stderr receives the standard error. nil: it is discarded.
	Stderr io.Writer
	// ReadStdout makes Process.Stdout readable. Otherwise standard output goes to Stderr.
	ReadStdout bool
}

// Start starts a program. The program is killed if this process ends without calling Stop.
func Start(o Options, program string, args ...string) (*Process, error) {
	p := &Process{command: exec.Command(program, args...), done: make(chan struct{})} //nolint:noctx // ended by Stop
	p.command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	p.command.WaitDelay = time.Second // an orphaned grandchild may keep the output open
	p.command.Stderr = o.Stderr
	stdin, input, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("make pipe: %w", err)
	}
	p.Stdin, p.command.Stdin = input, stdin
	p.command.Stdout = o.Stderr
	var output, stdout *os.File
	if o.ReadStdout {
		if output, stdout, err = os.Pipe(); err != nil {
			return nil, errors.Join(fmt.Errorf("make pipe: %w", err), stdin.Close(), input.Close())
		}
		p.Stdout, p.command.Stdout = output, stdout
	}
	err = p.command.Start()
	_ = stdin.Close() // the child has a copy
	if stdout != nil {
		_ = stdout.Close()
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start %s: %w", program, err), input.Close())
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

// Stop sends SIGTERM, and SIGKILL after stopLimit, and waits for the end. Further calls return the same result. It
// returns an error if the process has ended before.
func (p *Process) Stop() error {
	p.stop.Do(func() {
		select {
		case <-p.done:
			p.asked = fmt.Errorf("it ended before it was asked to: %w", p.Err())
			return
		default:
		}
		_ = p.command.Process.Signal(syscall.SIGTERM) // fails only if the process has ended
		overdue := time.AfterFunc(stopLimit, func() { _ = p.command.Process.Kill() })
		defer overdue.Stop()
		<-p.done
		_ = p.Stdin.Close() // closing a pipe without a reader works too
		if p.err != nil {
			p.asked = fmt.Errorf("it did not end well: %w", p.err)
		}
	})
	return p.asked
}
