package live

import (
	"context"
	"errors"
	"fmt"
	"sync"

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

// StartWatch makes a Watch of all changes from now on. Together with a list that is read afterwards, it misses nothing.
func StartWatch(ctx context.Context, resource dynamic.ResourceInterface, options metav1.ListOptions) (Watch, error) {
	first := options
	first.Limit = 1
	list, err := resource.List(ctx, first)
	if err != nil {
		return Watch{}, fmt.Errorf("begin to watch: %w", err)
	}
	return Watch{Resource: resource, Options: options, From: list.GetResourceVersion()}, nil
}

// Follow calls handle for each change, one at a time, until ctx ends or handle returns an error. The end of ctx is no
// error.
func Follow(ctx context.Context, handle func(watch.EventType, *unstructured.Unstructured) error, watches ...Watch) error {
	var handling sync.Mutex
	group, running := errgroup.WithContext(ctx)
	for _, w := range watches {
		group.Go(func() error {
			return w.run(running, func(change watch.EventType, object *unstructured.Unstructured) error {
				handling.Lock()
				defer handling.Unlock()
				return handle(change, object)
			})
		})
	}
	if err := group.Wait(); ctx.Err() == nil {
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

// run handles changes until ctx ends.
func (w Watch) run(ctx context.Context, handle func(watch.EventType, *unstructured.Unstructured) error) error {
	ctx = klog.NewContext(ctx, klog.Logger{}) // errors that end the watch are returned; others are retried, and need no log
	retrying, err := watchtools.NewRetryWatcherWithContext(ctx, w.From, watcher{w})
	if err != nil {
		return fmt.Errorf("watch: %w", err)
	}
	defer func() {
		retrying.Stop()
		<-retrying.Done()
	}()
	for change := range retrying.ResultChan() {
		if change.Type == watch.Bookmark {
			continue
		}
		object, ok := change.Object.(*unstructured.Unstructured)
		if !ok {
			return fmt.Errorf("watch: %w", apierrors.FromObject(change.Object))
		}
		if err := handle(change.Type, object); err != nil {
			return err
		}
	}
	return errEnded
}
