package leadership

import (
	"context"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
)

const (
	// slack is how long after the Lease has expired the others try to take it: the election counts from when it read it.
	slack = 500 * time.Millisecond
	// busyPause is the pause before another look where a try was under way.
	busyPause = 100 * time.Millisecond
)

// watch follows the Lease until ctx ends, and has tries come when they can succeed.
func (e *Elector) watch(ctx context.Context) {
	// changed has after what time the Lease expires that was seen last.
	changed := make(chan time.Duration, 1)
	tell := func(obj any) {
		lease, _ := obj.(*coordinationv1.Lease)
		select {
		case <-changed: // nobody has looked at it
		default:
		}
		changed <- lastsFor(lease)
	}
	leases := e.watches.Leases(e.options.Namespace)
	only := fields.OneTermEqualSelector(metav1.ObjectNameField, e.options.Name).String()
	_, informer := cache.NewInformerWithOptions(cache.InformerOptions{
		ListerWatcher: &cache.ListWatch{
			ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
				o.FieldSelector = only
				return leases.List(ctx, o)
			},
			WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
				o.FieldSelector = only
				return leases.Watch(ctx, o)
			},
		},
		ObjectType: &coordinationv1.Lease{},
		Handler:    cache.ResourceEventHandlerFuncs{AddFunc: tell, UpdateFunc: func(_, obj any) { tell(obj) }, DeleteFunc: func(any) { tell(nil) }},
	})
	done := make(chan struct{})
	go func() { defer close(done); informer.RunWithContext(ctx) }()
	defer func() { <-done }()

	next := time.NewTimer(0)
	next.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case lasts := <-changed:
			next.Reset(lasts + slack)
		case <-next.C:
		}
		if !e.hurry() {
			next.Reset(busyPause)
		}
	}
}

// lastsFor is how long others have to wait for a Lease from when they see it. One that nobody has can be taken at once.
func lastsFor(lease *coordinationv1.Lease) time.Duration {
	if lease == nil || lease.Spec.HolderIdentity == nil || *lease.Spec.HolderIdentity == "" || lease.Spec.LeaseDurationSeconds == nil {
		return 0
	}
	return time.Duration(*lease.Spec.LeaseDurationSeconds) * time.Second
}
