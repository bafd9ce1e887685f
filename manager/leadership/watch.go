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
	// slack is added to the expiry of the Lease, because the election counts from when it read the Lease.
	slack = 500 * time.Millisecond
	// busyPause is the pause before the next attempt if a try is under way.
	busyPause = 100 * time.Millisecond
)

// watch watches the Lease until ctx ends, and starts tries when they can succeed.
func (e *Elector) watch(ctx context.Context) {
	// changed has the time after which the last seen Lease expires.
	changed := make(chan time.Duration, 1)
	notify := func(obj any) {
		lease, _ := obj.(*coordinationv1.Lease)
		select {
		case <-changed: // not read yet
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
		Handler:    cache.ResourceEventHandlerFuncs{AddFunc: notify, UpdateFunc: func(_, obj any) { notify(obj) }, DeleteFunc: func(any) { notify(nil) }},
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

// lastsFor is how long other processes have to wait after they see a Lease. A Lease without a holder is free at once.
func lastsFor(lease *coordinationv1.Lease) time.Duration {
	if lease == nil || lease.Spec.HolderIdentity == nil || *lease.Spec.HolderIdentity == "" || lease.Spec.LeaseDurationSeconds == nil {
		return 0
	}
	return time.Duration(*lease.Spec.LeaseDurationSeconds) * time.Second
}
