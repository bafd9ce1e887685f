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

const (
	// gcPercent is GOGC unless the environment has it: how much garbage there may be before it is collected, in percent of
	// what is in use. Most of what Kanon allocates is garbage at once, and what it keeps is little: with Go's 100 a change of
	// all of 1,000 parents takes 10 % more of the processor, and 13 MiB less at the peak. GOMEMLIMIT bounds it.
	gcPercent = 200
	// idleCheck is the pause between two questions whether the engine is idle.
	idleCheck = 100 * time.Millisecond
)

// process is everything that kanon run wires together.
type process struct {
	engine      *engine.Engine
	server      *server
	outages     *outages
	broadcaster record.EventBroadcaster
	events      record.EventSink
}

func newProcess(config *rest.Config, o *runOptions) (*process, error) {
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
	p := &process{
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
	})
	if err != nil {
		return nil, err
	}
	return p, nil
}

// run runs the engine, once the API server answers, until ctx ends.
func (p *process) run(ctx context.Context) error {
	if !p.server.await(ctx) {
		return nil
	}
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	defer inBackground(ctx, p.freeMemory)()
	p.outages.begin(logr.FromContextOrDiscard(ctx))
	p.broadcaster.StartRecordingToSink(p.events)
	defer p.broadcaster.Shutdown()
	return p.engine.Run(ctx)
}

// freeMemory gives back, once the engine is idle for the first time, what it took to start: to read schemas and lists takes
// several times what is kept of them.
func (p *process) freeMemory(ctx context.Context) {
	ticker := time.NewTicker(idleCheck)
	defer ticker.Stop()
	for !p.engine.Idle() {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
	debug.FreeOSMemory()
}

// inBackground runs a function that ends with its context, and returns how to end it.
func inBackground(ctx context.Context, run func(context.Context)) (end func()) {
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() { run(ctx) })
	return func() { cancel(); running.Wait() }
}
