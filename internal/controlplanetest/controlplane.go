package controlplanetest

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

const (
	// startLimit is how long a control plane may take to become ready. It is far above what a busy machine needs (4 s
	// as measured), and above cmd/controlplane's own limits, whose messages are more helpful.
	startLimit = 10 * time.Minute
	// stopLimit is how long it may take to end before it is killed.
	stopLimit = time.Minute
)

// Options are the settings of a control plane. The zero value is that of the shared one.
type Options struct {
	// AuditLog is the file that records every API request, one JSON object of kind Event (audit.k8s.io/v1) a line;
	// empty records nothing.
	AuditLog string
	// Controllers are the controllers to run, such as "garbage-collector" and "namespace". Nil runs those that
	// workloads, Services and namespaces need.
	Controllers []string
	// Nodes is the number of fake nodes; with 0, no Pod is ever scheduled. Nil means 1.
	Nodes *int
	// APIArgs are additional arguments of kube-apiserver.
	APIArgs []string
	// Dir is the directory for data and logs; empty for a temporary one.
	Dir string
}

// arguments are those of `controlplane up`.
func (o Options) arguments(kubeconfig string) []string {
	// Standard input is a pipe whose other end only this process has, so the control plane ends with this process in
	// any case.
	args := []string{"up", "--until-stdin-closes", "--kubeconfig=" + kubeconfig}
	if o.AuditLog != "" {
		args = append(args, "--audit-log="+o.AuditLog)
	}
	if len(o.Controllers) > 0 {
		args = append(args, "--controllers="+strings.Join(o.Controllers, ","))
	}
	if o.Nodes != nil {
		args = append(args, "--nodes="+strconv.Itoa(*o.Nodes))
	}
	for _, arg := range o.APIArgs {
		args = append(args, "--api-arg="+arg)
	}
	if o.Dir != "" {
		args = append(args, "--dir="+o.Dir)
	}
	return args
}

// ControlPlane is a running control plane.
type ControlPlane struct {
	// Kubeconfig is the path of the administrator's kubeconfig file.
	Kubeconfig string
	// Config is the administrator's client configuration, without a rate limit. Copy it before changing it.
	Config *rest.Config
	// Kubectl is the path of a kubectl of the control plane's version.
	Kubectl string

	command *exec.Cmd // nil if it was not started here
	stdin   *os.File  // write end; nothing is written
	dir     string    // kubeconfig, kubectl and error output
	data    string    // data of the components, and their logs
	stop    sync.Once
}

// Start starts a control plane for one test and stops it at the end of the test.
func Start(tb testing.TB, o Options) *ControlPlane {
	tb.Helper()
	plane, err := start(Binary(tb), o)
	if err != nil {
		tb.Fatalf("start the control plane: %v", err)
	}
	tb.Cleanup(plane.Stop)
	return plane
}

// start starts a control plane and returns once it serves. It leaves no goroutine running, so tests can check for
// leaks.
func start(binary string, o Options) (*ControlPlane, error) {
	dir, err := os.MkdirTemp("", "controlplanetest-")
	if err != nil {
		return nil, fmt.Errorf("make directory: %w", err)
	}
	plane := &ControlPlane{
		Kubeconfig: filepath.Join(dir, "kubeconfig"),
		Kubectl:    filepath.Join(dir, "kubectl"),
		dir:        dir,
		data:       cmp.Or(o.Dir, filepath.Join(dir, "data")),
	}
	o.Dir = plane.data
	if err := plane.run(binary, o); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return plane.load()
}

// join uses a control plane that runs already, with its data in dir.
func join(binary, dir string) (*ControlPlane, error) {
	temporary, err := os.MkdirTemp("", "controlplanetest-")
	if err != nil {
		return nil, fmt.Errorf("make directory: %w", err)
	}
	plane := &ControlPlane{
		Kubeconfig: filepath.Join(dir, "kubeconfig"),
		Kubectl:    filepath.Join(temporary, "kubectl"),
		dir:        temporary,
		data:       dir,
	}
	if err := os.Symlink(binary, plane.Kubectl); err != nil {
		return nil, errors.Join(fmt.Errorf("link kubectl: %w", err), os.RemoveAll(temporary))
	}
	return plane.load()
}

// load reads the kubeconfig file.
func (p *ControlPlane) load() (*ControlPlane, error) {
	var err error
	if p.Config, err = clientcmd.BuildConfigFromFlags("", p.Kubeconfig); err != nil {
		p.Stop()
		return nil, fmt.Errorf("load kubeconfig: %w", err)
	}
	p.Config.QPS = -1
	return p, nil
}

// run starts the process and waits until it is ready.
func (p *ControlPlane) run(binary string, o Options) error {
	if err := os.Symlink(binary, p.Kubectl); err != nil {
		return fmt.Errorf("link kubectl: %w", err)
	}
	errorOutput, err := os.Create(filepath.Join(p.dir, "stderr"))
	if err != nil {
		return fmt.Errorf("make file for error output: %w", err)
	}
	defer errorOutput.Close() //nolint:errcheck // the child has its own copy
	stdin, input, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("make pipe: %w", err)
	}
	defer stdin.Close() //nolint:errcheck // the child has its own copy
	output, stdout, err := os.Pipe()
	if err != nil {
		return errors.Join(fmt.Errorf("make pipe: %w", err), input.Close())
	}
	defer output.Close() //nolint:errcheck // nothing is read after the line

	p.stdin = input
	p.command = exec.Command(binary, o.arguments(p.Kubeconfig)...) //nolint:noctx // ended by Stop and by the pipe
	p.command.Stdin, p.command.Stdout, p.command.Stderr = stdin, stdout, errorOutput
	err = p.command.Start()
	_ = stdout.Close() // the child has its own copy; with ours open, its end would go unnoticed
	if err != nil {
		return errors.Join(fmt.Errorf("start %s: %w", binary, err), input.Close())
	}
	if err := waitReady(output); err != nil {
		p.end()
		said, readErr := os.ReadFile(errorOutput.Name())
		return errors.Join(fmt.Errorf("%w:\n%s", err, said), readErr)
	}
	return nil
}

// waitReady reads the line that reports that everything serves.
func waitReady(output *os.File) error {
	if err := output.SetReadDeadline(time.Now().Add(startLimit)); err != nil {
		return fmt.Errorf("limit the wait: %w", err)
	}
	line, err := bufio.NewReader(output).ReadString('\n')
	if err != nil {
		return fmt.Errorf("it did not get ready (%w)", err)
	}
	if line != "ready\n" {
		return fmt.Errorf("it said %q instead of being ready", line)
	}
	return nil
}

// Complaints returns the last warnings and errors, at most limit, that a component such as "garbage-collector" logged.
// They often explain why a test waited in vain, which the objects seldom do.
func (p *ControlPlane) Complaints(component string, limit int) (string, error) {
	log, err := os.ReadFile(filepath.Join(p.data, "logs", component+".log"))
	if err != nil {
		return "", fmt.Errorf("read log: %w", err)
	}
	var complaints []string
	for line := range strings.Lines(string(log)) {
		if line[0] == 'E' || line[0] == 'W' {
			complaints = append(complaints, line)
		}
	}
	return strings.Join(complaints[max(0, len(complaints)-limit):], ""), nil
}

// Stop stops the control plane and waits for its end. It may be called again.
func (p *ControlPlane) Stop() {
	p.stop.Do(func() {
		p.end()
		_ = os.RemoveAll(p.dir) // at worst, it stays in the temporary directory
	})
}

// end closes the pipe that keeps the process alive and waits for the process.
func (p *ControlPlane) end() {
	if p.command == nil {
		return
	}
	_ = p.stdin.Close() // it closes even without a reader
	overdue := time.AfterFunc(stopLimit, func() { _ = p.command.Process.Kill() })
	defer overdue.Stop()
	_ = p.command.Wait() // the result no longer matters
}
