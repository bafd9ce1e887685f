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

// Numbers of the garbage collector.
const (
	// garbageCollectorWorkers is the controller manager's default.
	garbageCollectorWorkers = 20
	// discoveryInterval is how often the kinds are read after one has changed.
	discoveryInterval = 500 * time.Millisecond
	// discoverySettling is how long after a change the API server's discovery
	// may still lag behind it.
	discoverySettling = 5 * time.Second
	// discoveryResync is how often the kinds are read in any case. It is the
	// interval of the controller manager, whose only trigger is time.
	discoveryResync = 30 * time.Second
)

// newGarbageCollectorCommand builds the component that runs Kubernetes' garbage
// collector by itself. In the controller manager it learns of a new kind up to
// 30 seconds late, and until then leaves the children of deleted parents of that
// kind; here it learns as soon as a CustomResourceDefinition or APIService
// changes.
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

// componentConfig loads a component's client configuration, without a limit of
// its own on the rate of requests.
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
	// The mapper empties the cache of its discovery client, so it has one of
	// its own.
	mapping, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return fmt.Errorf("make discovery client: %w", err)
	}
	factory := metadataInformers{metadatainformer.NewSharedInformerFactory(objects, 0)}
	started := make(chan struct{})
	close(started) // nothing else shares the informers, so nothing has to be waited for

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

// metadataInformers gives the garbage collector informers that keep nothing of
// an object but its metadata, which is all that it looks at.
type metadataInformers struct {
	metadatainformer.SharedInformerFactory
}

// ForResource implements the factory that the garbage collector asks for.
func (m metadataInformers) ForResource(resource schema.GroupVersionResource) (informers.GenericInformer, error) {
	return m.SharedInformerFactory.ForResource(resource), nil
}

// changedKinds is discovery that holds back its answer until the kinds may have
// changed. The garbage collector asks again and again; so it hears of changes
// at once, and sends no request while there are none.
type changedKinds struct {
	discovery.ServerResourcesInterface
	changed chan struct{} // has room for one; a second change says nothing new
	stop    <-chan struct{}
	// settled is when discovery shows the last change for sure. Only the
	// goroutine that asks uses it.
	settled time.Time
}

// watch has the informers of the objects that define kinds report changes.
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

// wait returns when there may be news: after a change, for a while after it,
// at the first call, and once per discoveryResync.
func (k *changedKinds) wait() {
	var idle <-chan time.Time // nil while discovery settles
	if time.Now().After(k.settled) && !k.settled.IsZero() {
		timer := time.NewTimer(discoveryResync)
		defer timer.Stop()
		idle = timer.C
	}
	if idle == nil {
		select {
		case <-k.changed:
		default:
			if !k.settled.IsZero() {
				return
			}
		}
		k.settled = time.Now().Add(discoverySettling)
		return
	}
	select {
	case <-k.changed:
		k.settled = time.Now().Add(discoverySettling)
	case <-idle:
	case <-k.stop:
	}
}
