package plane

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Options are the settings of a control plane.
type Options struct {
	// Binary is the path of the built cmd/controlplane.
	Binary string
	// Dir is an existing directory for kubeconfigs. The control plane's data are in a directory that it removes at its
	// end.
	Dir string
	// Log receives the standard error.
	Log io.Writer
}

// Plane is a running control plane.
type Plane struct {
	// Config is the administrator's client configuration, without a rate limit.
	Config *rest.Config
	// EngineKubeconfig is the kubeconfig file of the measured engine.
	EngineKubeconfig string
	// Version is the version of Kubernetes.
	Version string

	process *Process
	core    kubernetes.Interface
	objects client.Client
	kinds   int // the number of defined parent kinds
}

// Start starts a control plane and prepares it for engines. The caller must call Stop.
func Start(ctx context.Context, o Options) (*Plane, error) {
	admin := filepath.Join(o.Dir, "admin.kubeconfig")
	running, err := StartProcess(ProcessOptions{Stderr: o.Log, ReadStdout: true}, o.Binary,
		"up", "--kubeconfig="+admin, "--nodes=0", "--controllers=garbage-collector,namespace")
	if err != nil {
		return nil, err
	}
	p := &Plane{process: running, EngineKubeconfig: EngineKubeconfig(o.Dir)}
	if err := p.prepare(ctx, admin); err != nil {
		return nil, errors.Join(fmt.Errorf("start control plane: %w", err), p.Stop())
	}
	return p, nil
}

// EngineKubeconfig is the path of the measured engine's kubeconfig, for a control plane in a directory.
func EngineKubeconfig(dir string) string { return filepath.Join(dir, "engine.kubeconfig") }

// prepare waits until the control plane serves, and makes what engines need.
func (p *Plane) prepare(ctx context.Context, admin string) error {
	if err := awaitReady(ctx, p.process.Stdout); err != nil {
		return err
	}
	var err error
	if p.Config, err = clientcmd.BuildConfigFromFlags("", admin); err != nil {
		return fmt.Errorf("load kubeconfig: %w", err)
	}
	p.Config.QPS = -1
	if p.core, err = kubernetes.NewForConfig(p.Config); err != nil {
		return fmt.Errorf("make client: %w", err)
	}
	if p.objects, err = client.New(p.Config, client.Options{}); err != nil {
		return fmt.Errorf("make client: %w", err)
	}
	version, err := p.core.Discovery().ServerVersion()
	if err != nil {
		return fmt.Errorf("ask for the version: %w", err)
	}
	p.Version = version.GitVersion
	if err := p.Define(ctx, 1); err != nil {
		return err
	}
	if err := p.identify(ctx); err != nil {
		return err
	}
	return p.makeFlowSchemas(ctx)
}

// awaitReady waits for the line that says that the control plane is ready.
func awaitReady(ctx context.Context, output io.Reader) error {
	lines := make(chan string, 1)
	go func() { // ends with the process at the latest
		line, _ := bufio.NewReader(output).ReadString('\n')
		lines <- line
	}()
	select {
	case line := <-lines:
		if line != "ready\n" {
			return fmt.Errorf("it said %q instead of being ready", line)
		}
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// PID is the process ID of the control plane. Its descendants are the components.
func (p *Plane) PID() int { return p.process.PID() }

// Stop stops the control plane and waits for its end.
func (p *Plane) Stop() error {
	if err := p.process.Stop(); err != nil {
		return fmt.Errorf("control plane: %w", err)
	}
	return nil
}
