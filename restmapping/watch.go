package restmapping

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"
)

type definitionWatch struct {
	resource schema.GroupVersionResource
	informer cache.SharedIndexInformer
	// failed is closed at the first error.
	failed     chan struct{}
	failedOnce sync.Once
	// failing is true after an outage was logged, until the next event.
	failing atomic.Bool
}

func newDefinitionWatch(client dynamic.Interface, resource schema.GroupVersionResource) *definitionWatch {
	return &definitionWatch{
		resource: resource,
		informer: dynamicinformer.NewFilteredDynamicInformer(client, resource, "", 0, nil, nil).Informer(),
		failed:   make(chan struct{}),
	}
}

// start runs the informer in group until ctx ends. late is called if the first list succeeds only after an error. The
// error reports that the informer already runs.
func (w *definitionWatch) start(
	ctx context.Context, group *sync.WaitGroup, keep cache.TransformFunc, handler cache.ResourceEventHandler, late func(),
) error {
	log := loggerFor(ctx, w.resource)
	ctx = logr.NewContext(ctx, log)
	if err := w.informer.SetTransform(keep); err != nil {
		return err
	}
	if err := w.informer.SetWatchErrorHandlerWithContext(func(ctx context.Context, _ *cache.Reflector, err error) {
		if ctx.Err() != nil { // the requests of an informer that is stopped end with an error, too
			return
		}
		if !w.failing.Swap(true) {
			log.Error(err, "Cannot watch definitions of kinds; retrying")
		}
		w.failedOnce.Do(func() { close(w.failed) })
	}); err != nil {
		return err
	}
	for _, h := range []cache.ResourceEventHandler{handler, w.recovery(log)} {
		if _, err := w.informer.AddEventHandlerWithOptions(h, cache.HandlerOptions{Logger: &log}); err != nil {
			return err
		}
	}
	group.Go(func() { w.informer.RunWithContext(ctx) })
	group.Go(func() {
		select {
		case <-ctx.Done():
			return
		case <-w.informer.HasSyncedChecker().Done():
		}
		select {
		case <-w.failed:
			late()
		default:
		}
	})
	return nil
}

// recovery returns a handler that ends an outage at the first event after it.
func (w *definitionWatch) recovery(log logr.Logger) cache.ResourceEventHandler {
	event := func() {
		if w.failing.Load() && w.failing.Swap(false) {
			log.Info("Watching definitions of kinds again")
		}
	}
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { event() },
		UpdateFunc: func(any, any) { event() },
		DeleteFunc: func(any) { event() },
	}
}
