package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/cache"
	"k8s.io/kubernetes/pkg/controller/garbagecollector"
)

// Settings of the garbage collector.
const (
	// garbageCollectorWorkers is the controller manager's default.
	garbageCollectorWorkers = 20
	// discoveryInterval is the interval of discovery after a change.
	discoveryInterval = 500 * time.Millisecond
	// discoverySettling is how long the API server's discovery may lag behind a change.
	discoverySettling = 5 * time.Second
	// discoveryResync is the interval of discovery without changes. It is the interval of the controller manager, which
	// has no other trigger.
	discoveryResync = 30 * time.Second
)

// newGarbageCollectorCommand makes the component that runs Kubernetes' garbage collector. In the controller manager,
// the collector learns of a new kind up to 30 seconds late, and until then leaves the children of deleted parents of
// that kind. Here it learns as soon as a CustomResourceDefinition or APIService changes.
func newGarbageCollectorCommand() *cobra.Command {
	return clientCommand(garbageCollectorName, "Run Kubernetes' garbage collector by itself", collectGarbage)
}

// collectGarbage runs the garbage collector until ctx ends.
func collectGarbage(ctx context.Context, config *rest.Config) error {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("make client: %w", err)
	}
	objects, err := metadata.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("make metadata client: %w", err)
	}
	// The mapper invalidates the cache of its discovery client, so it has a client of its own.
	mapping, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return fmt.Errorf("make discovery client: %w", err)
	}
	factory := metadataInformers{metadatainformer.NewSharedInformerFactory(objects, 0)}
	started := make(chan struct{})
	close(started) // the informers are not shared, so there is nothing to wait for

	collector, err := garbagecollector.NewGarbageCollector(ctx, client, objects,
		restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(mapping)),
		garbagecollector.DefaultIgnoredResources(), factory, started)
	if err != nil {
		return fmt.Errorf("make garbage collector: %w", err)
	}
	kinds := &changedKinds{ServerResourcesInterface: client.Discovery()}
	if err := kinds.watch(factory.SharedInformerFactory); err != nil {
		return err
	}

	var running sync.WaitGroup
	running.Go(func() { collector.Sync(ctx, kinds, discoveryInterval) })
	collector.Run(ctx, garbageCollectorWorkers, discoveryResync)
	running.Wait()
	return nil
}

// metadataInformers makes informers that keep only the metadata of objects, which is all that the garbage collector
// needs.
type metadataInformers struct {
	metadatainformer.SharedInformerFactory
}

// ForResource implements garbagecollector's informer factory.
func (m metadataInformers) ForResource(resource schema.GroupVersionResource) (informers.GenericInformer, error) {
	return m.SharedInformerFactory.ForResource(resource), nil
}

// changedKinds is a discovery client that repeats its last answer as long as the kinds have not changed. The garbage
// collector asks it twice a second, so the collector learns of changes immediately, and sends no requests while nothing
// changes.
type changedKinds struct {
	discovery.ServerResourcesInterface

	mu sync.Mutex // guards changed
	// changed is when an object that defines kinds last changed.
	changed time.Time

	// asked is when the API server was last asked, and answer what it said. Only the goroutine that asks uses them.
	asked  time.Time
	answer []*metav1.APIResourceList
}

// watch makes informers report changes of the objects that define kinds.
func (k *changedKinds) watch(factory metadatainformer.SharedInformerFactory) error {
	handler := cache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { k.note() },
		UpdateFunc: func(_, _ any) { k.note() },
		DeleteFunc: func(any) { k.note() },
	}
	for _, resource := range []schema.GroupVersionResource{
		{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"},
		{Group: "apiregistration.k8s.io", Version: "v1", Resource: "apiservices"},
	} {
		if _, err := factory.ForResource(resource).Informer().AddEventHandler(handler); err != nil {
			return fmt.Errorf("watch %s: %w", resource.Resource, err)
		}
	}
	return nil
}

func (k *changedKinds) note() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.changed = time.Now()
}

// ServerPreferredResources is the one method that the garbage collector calls.
func (k *changedKinds) ServerPreferredResources() ([]*metav1.APIResourceList, error) {
	k.mu.Lock()
	settled := k.changed.Add(discoverySettling)
	k.mu.Unlock()
	if k.answer != nil && k.asked.After(settled) && time.Since(k.asked) < discoveryResync {
		return k.answer, nil
	}
	now := time.Now()
	lists, err := k.ServerResourcesInterface.ServerPreferredResources()
	if err != nil {
		k.answer = nil
		return lists, fmt.Errorf("discover kinds: %w", err)
	}
	k.asked, k.answer = now, lists
	return lists, nil
}
