package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"sync"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/kubernetes/scheme"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/openapi"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/record"

	"kanon.dev/kanon/engine"
	"kanon.dev/kanon/engine/source"
	"kanon.dev/kanon/restmapping"
	"kanon.dev/kanon/schemas"
	"kanon.dev/kanon/wire"
)

// program is everything that kanon run wires together.
type program struct {
	engine      *engine.Engine
	server      *server
	outages     *outages
	broadcaster record.EventBroadcaster
	events      record.EventSink
}

func newProgram(config *rest.Config, o *runOptions) (*program, error) {
	outages := &outages{now: time.Now}
	config = rest.CopyConfig(config)
	config.Wrap(outages.wrap)
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("set up the connection to the cluster: %w", err)
	}
	objects, err1 := wire.NewClient(config, client)
	kinds, err2 := discovery.NewDiscoveryClientForConfigAndClient(config, client)
	core, err3 := typedcorev1.NewForConfigAndClient(config, client)
	if err := errors.Join(err1, err2, err3); err != nil {
		return nil, fmt.Errorf("set up the connection to the cluster: %w", err)
	}
	mapper, err := restmapping.New(restmapping.Options{Config: config})
	if err != nil {
		return nil, err
	}
	sources := []engine.Source{source.NewConfigMaps(objects, o.namespace), source.NewRuleObjects(objects, o.namespace)}
	if len(o.rules) > 0 {
		files, err := source.NewFiles(o.rules...)
		if err != nil {
			return nil, err
		}
		sources = append(sources, files)
	}
	p := &program{
		server:      &server{client: kinds.RESTClient(), host: config.Host, limit: answerLimit, after: time.After},
		outages:     outages,
		broadcaster: record.NewBroadcaster(),
		events:      &typedcorev1.EventSinkImpl{Interface: core.Events("")},
	}
	limits := o.limits
	memory := shareMemory(debug.SetMemoryLimit(-1), &limits)
	p.engine, err = engine.New(engine.Options{
		Client:    objects,
		Mapper:    mapper,
		Schemas:   schemas.New(openapi.NewClientWithContext(kinds.RESTClient())),
		Recorder:  p.broadcaster.NewRecorder(scheme.Scheme, corev1.EventSource{Component: "kanon"}),
		Sources:   sources,
		Namespace: o.namespace,
		Workers:   o.workers,
		Limits:    limits,
		Memory:    memory,
		// To read schemas takes several times what is kept of them, and so do many passes: a
		// process with a rule and no parent has 45 MiB instead of 50.
		Lull: debug.FreeOSMemory,
	})
	if err != nil {
		return nil, err
	}
	return p, nil
}

// run runs the engine, once the API server answers, until ctx ends.
func (p *program) run(ctx context.Context) error {
	if !p.server.await(ctx) {
		return nil
	}
	if os.Getenv("GOGC") == "" {
		defer inBackground(ctx, newCollector().run)()
	}
	p.outages.begin(logr.FromContextOrDiscard(ctx))
	p.broadcaster.StartRecordingToSink(p.events)
	defer p.broadcaster.Shutdown()
	return p.engine.Run(ctx)
}

// inBackground runs a function that ends with its context, and returns how to end it.
func inBackground(ctx context.Context, run func(context.Context)) (end func()) {
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() { run(ctx) })
	return func() { cancel(); running.Wait() }
}
