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

// stopLimit is how long a process that was told to end may take.
const stopLimit = time.Minute

// Process is a running process.
type Process struct {
	// Stdin is its standard input. What is written there is the caller's affair;
	// it is closed by Stop.
	Stdin io.WriteCloser
	// Stdout is its standard output, for the caller to read, if it was asked for.
	Stdout io.Reader

	command *exec.Cmd
	done    chan struct{} // closed when it has ended
	err     error         // how it ended; to be read after done
	stop    sync.Once
	asked   error // how Stop went
}

// Options are the settings of a process.
type Options struct {
	// Stderr takes its standard error. Nil: nobody.
	Stderr io.Writer
	// ReadStdout makes Process.Stdout readable. Otherwise it goes to Stderr.
	ReadStdout bool
}

// Start starts a program. It is killed when this process ends in any other way
// than by Stop.
func Start(o Options, program string, args ...string) (*Process, error) {
	p := &Process{command: exec.Command(program, args...), done: make(chan struct{})} //nolint:noctx // ended by Stop
	p.command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	p.command.WaitDelay = time.Second // a child that it left behind may hold its output
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
	_ = stdin.Close() // the child has its own copies
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

// PID is its process ID.
func (p *Process) PID() int { return p.command.Process.Pid }

// Done is closed when it has ended, asked or not.
func (p *Process) Done() <-chan struct{} { return p.done }

// Err is how it ended, to be read after Done.
func (p *Process) Err() error {
	if p.err != nil {
		return p.err
	}
	return errors.New("it has ended, with exit code 0")
}

// Stop sends SIGTERM and waits for the end, which a SIGKILL brings about when it
// takes too long. It may be called again, with the same result. A process that
// ended before it was asked to is an error.
func (p *Process) Stop() error {
	p.stop.Do(func() {
		select {
		case <-p.done:
			p.asked = fmt.Errorf("it ended before it was asked to: %w", p.Err())
			return
		default:
		}
		_ = p.command.Process.Signal(syscall.SIGTERM) // fails only when it has ended
		overdue := time.AfterFunc(stopLimit, func() { _ = p.command.Process.Kill() })
		defer overdue.Stop()
		<-p.done
		_ = p.Stdin.Close() // a pipe without a reader closes all the same
		if p.err != nil {
			p.asked = fmt.Errorf("it did not end well: %w", p.err)
		}
	})
	return p.asked
}
