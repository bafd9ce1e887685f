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

// Watch is a watch to be started.
type Watch struct {
	Resource dynamic.ResourceInterface
	// Options are those of the list that precedes the watch.
	Options metav1.ListOptions
	// From is the resourceVersion of that list.
	From string
}

// Start makes a Watch of all changes from now on. Together with a list that is read afterwards, it misses nothing.
func Start(ctx context.Context, resource dynamic.ResourceInterface, options metav1.ListOptions) (Watch, error) {
	first := options
	first.Limit = 1
	list, err := resource.List(ctx, first)
	if err != nil {
		return Watch{}, fmt.Errorf("begin to watch: %w", err)
	}
	return Watch{Resource: resource, Options: options, From: list.GetResourceVersion()}, nil
}

// Objects calls handle for each change, one at a time, until ctx ends or handle returns an error. The end of ctx is no
// error.
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

// watcher adapts a Watch to client-go.
type watcher struct{ Watch }

// WatchWithContext implements cache.WatcherWithContext.
func (w watcher) WatchWithContext(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	options.LabelSelector, options.FieldSelector = w.Options.LabelSelector, w.Options.FieldSelector
	return w.Resource.Watch(ctx, options)
}

// run sends changes until ctx ends.
func (w Watch) run(ctx context.Context, changes chan<- watch.Event) error {
	ctx = klog.NewContext(ctx, klog.Logger{}) // errors that end the watch are returned; others are retried, and need no log
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
