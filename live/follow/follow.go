package follow

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	watchtools "k8s.io/client-go/tools/watch"
	"k8s.io/klog/v2"
)

// Watch says what is watched.
type Watch struct {
	Resource dynamic.ResourceInterface
	// Options are those of the list before.
	Options metav1.ListOptions
	// From is the resourceVersion of the list.
	From string
}

// Start makes a Watch of what changes from now on. A list that is read after it misses nothing.
func Start(ctx context.Context, resource dynamic.ResourceInterface, options metav1.ListOptions) (Watch, error) {
	first := options
	first.Limit = 1
	list, err := resource.List(ctx, first)
	if err != nil {
		return Watch{}, fmt.Errorf("begin to watch: %w", err)
	}
	return Watch{Resource: resource, Options: options, From: list.GetResourceVersion()}, nil
}

// Objects calls handle for each change, one at a time, until ctx ends, which is no error, or until handle returns an error.
func Objects(ctx context.Context, handle func(watch.EventType, *unstructured.Unstructured) error, watches ...Watch) error {
	group, running := errgroup.WithContext(ctx)
	changes := make(chan watch.Event)
	for _, w := range watches {
		group.Go(func() error { return w.run(running, changes) })
	}
	group.Go(func() error {
		for {
			select {
			case <-running.Done():
				return nil
			case change := <-changes:
				object, ok := change.Object.(*unstructured.Unstructured)
				if !ok {
					return fmt.Errorf("watch: %w", apierrors.FromObject(change.Object))
				}
				if err := handle(change.Type, object); err != nil {
					return err
				}
			}
		}
	})
	if err := group.Wait(); err != nil && ctx.Err() == nil {
		return err
	}
	return nil
}

var errEnded = errors.New("the API server ended the watch; call the command again")

// watcher is a Watch for client-go.
type watcher struct{ Watch }

// WatchWithContext implements cache.WatcherWithContext.
func (w watcher) WatchWithContext(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	options.LabelSelector, options.FieldSelector = w.Options.LabelSelector, w.Options.FieldSelector
	return w.Resource.Watch(ctx, options)
}

// run sends changes until ctx ends.
func (w Watch) run(ctx context.Context, changes chan<- watch.Event) error {
	ctx = klog.NewContext(ctx, klog.Logger{}) // an error that ends the watch is returned; the others are tried again
	retrying, err := watchtools.NewRetryWatcherWithContext(ctx, w.From, watcher{w})
	if err != nil {
		return fmt.Errorf("watch: %w", err)
	}
	defer func() {
		retrying.Stop()
		<-retrying.Done()
	}()
	for {
		select {
		case <-ctx.Done():
			return nil
		case change, ok := <-retrying.ResultChan():
			if !ok {
				return errEnded
			}
			if change.Type == watch.Bookmark {
				continue
			}
			select {
			case changes <- change:
			case <-ctx.Done():
				return nil
			}
		}
	}
}
