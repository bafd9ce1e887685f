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
	"k8s.io/client-go/tools/clientcmd"
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
	var path string
	cmd := &cobra.Command{
		Use:   garbageCollectorName,
		Short: "Run Kubernetes' garbage collector by itself",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, stop := untilSignal(cmd.Context())
			defer stop()
			config, err := componentConfig(path, garbageCollectorName)
			if err != nil {
				return err
			}
			return collectGarbage(ctx, config)
		},
	}
	cmd.Flags().StringVar(&path, "kubeconfig", "", "kubeconfig file of the API server")
	return cmd
}

// componentConfig loads a component's client configuration, without a client-side rate limit.
func componentConfig(path, userAgent string) (*rest.Config, error) {
	config, err := clientcmd.BuildConfigFromFlags("", path)
	if err != nil {
		return nil, fmt.Errorf("load kubeconfig: %w", err)
	}
	config.QPS = -1
	config.UserAgent = userAgent
	return config, nil
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
	kinds := &changedKinds{
		ServerResourcesInterface: client.Discovery(),
		changed:                  make(chan struct{}, 1),
		stop:                     ctx.Done(),
	}
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

// changedKinds is a discovery client that answers only once the kinds may have changed. The garbage collector polls it,
// so the collector learns of changes immediately, and sends no requests while nothing changes.
type changedKinds struct {
	discovery.ServerResourcesInterface
	changed chan struct{} // buffered for one: several changes need only one discovery
	stop    <-chan struct{}
	// settled is when discovery is certain to show the last change. Only the goroutine that polls uses it.
	settled time.Time
}

// watch makes informers report changes of the objects that define kinds.
func (k *changedKinds) watch(factory metadatainformer.SharedInformerFactory) error {
	note := func() {
		select {
		case k.changed <- struct{}{}:
		default:
		}
	}
	handler := cache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { note() },
		UpdateFunc: func(_, _ any) { note() },
		DeleteFunc: func(any) { note() },
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

// ServerPreferredResources is the one method that the garbage collector calls.
func (k *changedKinds) ServerPreferredResources() ([]*metav1.APIResourceList, error) {
	k.wait()
	lists, err := k.ServerResourcesInterface.ServerPreferredResources()
	if err != nil {
		return lists, fmt.Errorf("discover kinds: %w", err)
	}
	return lists, nil
}

// wait blocks until the kinds may have changed. It returns on a change and while discovery settles after it, on the first call,
// and after discoveryResync.
func (k *changedKinds) wait() {
	isFirst := k.settled.IsZero()
	if isFirst || !time.Now().After(k.settled) {
		select {
		case <-k.changed:
		default:
			if !isFirst {
				return
			}
		}
		k.settled = time.Now().Add(discoverySettling)
		return
	}
	idle := time.NewTimer(discoveryResync)
	defer idle.Stop()
	select {
	case <-k.changed:
		k.settled = time.Now().Add(discoverySettling)
	case <-idle.C:
	case <-k.stop:
	}
}
