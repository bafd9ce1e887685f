package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/kubernetes/cmd/kube-controller-manager/names"
)

// stopGrace is the time for a component to end if its data are kept.
const stopGrace = 5 * time.Second

// plane is one control plane: its files, its port and its processes.
type plane struct {
	files       *layout
	options     Options
	executable  string
	credentials *credentials
	apiServer   *port

	// fail cancels the context in which the plane runs. It is called for every component that ends, and has no effect
	// once the context has ended.
	fail     context.CancelCauseFunc
	watchers sync.WaitGroup

	// layers are the running components. The components of a layer need those of the layers before, and are stopped
	// before them.
	layers [][]*process
}

// newPlane writes the files that components read, and reserves the API server's port.
func newPlane(files *layout, o Options, fail context.CancelCauseFunc) (*plane, error) {
	executable, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this binary: %w", err)
	}
	p := &plane{files: files, options: o, executable: executable, fail: fail}
	if p.credentials, err = issueCredentials(files); err != nil {
		return nil, err
	}
	if p.apiServer, err = reservePort(); err != nil {
		return nil, err
	}
	if err := errors.Join(p.writeKubeconfigs(), writeSchedulerConfig(files), writeAuditPolicy(files)); err != nil {
		return nil, errors.Join(err, p.apiServer.release())
	}
	return p, nil
}

func (p *plane) writeKubeconfigs() error {
	for name := range p.credentials.tokens {
		path := p.files.client(name)
		if name == adminName {
			path = p.options.Kubeconfig
		}
		if err := writeKubeconfig(path, p.credentials.kubeconfig(serverURL(p.apiServer), name)); err != nil {
			return err
		}
	}
	return nil
}

// start starts all components, each layer once the previous one is ready.
func (p *plane) start(ctx context.Context) error {
	if err := p.startLayer(ctx, component{name: etcdName, args: etcdArgs(p.files), ready: probeEtcd(p.files)}); err != nil {
		return err
	}
	api := component{
		name: apiServerName, args: apiServerArgs(p.files, p.options, p.apiServer), ready: probeServer(p.credentials.authority, p.apiServer),
	}
	if err := p.startLayer(ctx, api); err != nil {
		return err
	}
	client, err := p.client()
	if err != nil {
		return err
	}
	if err := createNodes(ctx, client, p.options.Nodes); err != nil {
		return err
	}
	return p.startLayer(ctx, p.controllers(client)...)
}

// controllers are the components that are clients of the API server.
func (p *plane) controllers(client kubernetes.Interface) []component {
	var list []component
	managed := slices.DeleteFunc(slices.Clone(p.options.Controllers), func(name string) bool {
		return name == names.GarbageCollectorController
	})
	if len(managed) < len(p.options.Controllers) {
		list = append(list, component{name: garbageCollectorName, args: p.clientArgs(garbageCollectorName)})
	}
	if len(managed) > 0 {
		manager := component{name: controllerManagerName, args: controllerManagerArgs(p.files, managed)}
		if slices.Contains(managed, names.ServiceAccountController) {
			manager.ready = probeServiceAccount(client)
		}
		list = append(list, manager)
	}
	if p.options.Nodes > 0 {
		list = append(list,
			component{name: schedulerName, args: schedulerArgs(p.files)},
			component{name: kwokName, args: p.clientArgs(kwokName), ready: probeNodes(client)})
	}
	return list
}

func (p *plane) clientArgs(name string) []string {
	return []string{"--kubeconfig=" + p.files.client(name)}
}

// startLayer starts components concurrently, and waits until all are ready or one fails.
func (p *plane) startLayer(ctx context.Context, components ...component) error {
	p.layers = append(p.layers, nil)
	layer := &p.layers[len(p.layers)-1]
	for _, c := range components {
		started, err := startProcess(p.executable, p.files.logs(), c.name, c.args)
		if err != nil {
			return err
		}
		*layer = append(*layer, started)
		p.watchers.Go(func() { p.fail(started.died()) })
	}
	waiting, ctx := errgroup.WithContext(ctx)
	for i, c := range components {
		if c.ready != nil {
			waiting.Go(func() error { return (*layer)[i].ready(ctx, p.options.StartTimeout, c.ready) })
		}
	}
	return waiting.Wait()
}

// stop stops all components, the last layer first, and waits until they have ended.
func (p *plane) stop() error {
	grace := stopGrace
	if p.files.temporary {
		grace = 0 // the data are removed anyway
	}
	for _, layer := range slices.Backward(p.layers) {
		var ending sync.WaitGroup
		for _, running := range layer {
			ending.Go(func() { running.stop(grace) })
		}
		ending.Wait()
	}
	p.watchers.Wait()
	return p.apiServer.release()
}

// client makes a client with the administrator's rights.
func (p *plane) client() (kubernetes.Interface, error) {
	config, err := clientcmd.BuildConfigFromFlags("", p.options.Kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("load kubeconfig: %w", err)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("make client: %w", err)
	}
	return client, nil
}
