package operator

import (
	"context"
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"kanon.dev/kanon/cmd/kanonbench/internal/app"
)

// Options say what there is to do.
type Options struct {
	// Workers is how many parents are worked on at the same time. With several
	// kinds each has its share, one at the least.
	Workers int
	// Kinds is how many kinds of parents there are.
	Kinds int
	// Size is that of the ConfigMap's bulk, in bytes.
	Size int
	// Patch is what Apps patch in place of having children; empty: nothing.
	Patch app.Patch
}

// Run runs the operator until ctx ends.
func Run(ctx context.Context, config *rest.Config, o Options) error {
	scheme, err := app.Scheme(0)
	if err != nil {
		return err
	}
	manager, err := ctrl.NewManager(config, ctrl.Options{
		Scheme:  scheme,
		Metrics: metricsserver.Options{BindAddress: "0"},
	})
	if err != nil {
		return fmt.Errorf("make manager: %w", err)
	}
	if o.Patch != "" {
		if err := setUpPatches(manager, o); err != nil {
			return fmt.Errorf("set up the controller of patches: %w", err)
		}
		return manager.Start(ctx)
	}
	for kind := range app.Kind(o.Kinds) {
		if err := setUp(manager, kind, o); err != nil {
			return fmt.Errorf("set up the controller of %s: %w", kind, err)
		}
	}
	return manager.Start(ctx)
}

// setUp adds the controller of a kind: what For and Owns of the builder do, but for
// that all kinds share a Go type, so that each has a scheme and a cache of its own.
// Children are in one cache.
func setUp(manager ctrl.Manager, kind app.Kind, o Options) error {
	parents, scheme, err := parentsOf(manager, kind)
	if err != nil {
		return err
	}
	r, err := newReconciler(manager, parents, scheme, o.Size)
	if err != nil {
		return err
	}
	mapper := manager.GetRESTMapper()
	return ctrl.NewControllerManagedBy(manager).
		Named(strings.ToLower(kind.String())).
		// Its own writes of the status are no reason to look again.
		WatchesRawSource(source.Kind(parents, &app.App{}, &handler.TypedEnqueueRequestForObject[*app.App]{},
			predicate.TypedGenerationChangedPredicate[*app.App]{})).
		WatchesRawSource(source.Kind(manager.GetCache(), &corev1.ConfigMap{},
			handler.TypedEnqueueRequestForOwner[*corev1.ConfigMap](scheme, mapper, &app.App{}, handler.OnlyControllerOwner()))).
		WatchesRawSource(source.Kind(manager.GetCache(), &corev1.Service{},
			handler.TypedEnqueueRequestForOwner[*corev1.Service](scheme, mapper, &app.App{}, handler.OnlyControllerOwner()))).
		WatchesRawSource(source.Kind(manager.GetCache(), &appsv1.Deployment{},
			handler.TypedEnqueueRequestForOwner[*appsv1.Deployment](scheme, mapper, &app.App{}, handler.OnlyControllerOwner()))).
		WithOptions(controller.Options{MaxConcurrentReconciles: max(1, o.Workers/o.Kinds)}).
		Complete(r)
}

// parentsOf is the cache of the parents of a kind, and the scheme in which they are
// of that kind.
func parentsOf(manager ctrl.Manager, kind app.Kind) (cache.Cache, *runtime.Scheme, error) {
	if kind == 0 {
		return manager.GetCache(), manager.GetScheme(), nil
	}
	scheme, err := app.Scheme(kind)
	if err != nil {
		return nil, nil, err
	}
	parents, err := cache.New(manager.GetConfig(), cache.Options{
		Scheme: scheme, Mapper: manager.GetRESTMapper(), HTTPClient: manager.GetHTTPClient(),
	})
	if err != nil {
		return nil, nil, fmt.Errorf("make cache: %w", err)
	}
	if err := manager.Add(parents); err != nil {
		return nil, nil, fmt.Errorf("add cache: %w", err)
	}
	return parents, scheme, nil
}

// reconciler brings the children of one App up to date.
type reconciler struct {
	client  client.Client // of children
	parents client.Client
	size    int
}

func newReconciler(manager ctrl.Manager, parents cache.Cache, scheme *runtime.Scheme, size int) (*reconciler, error) {
	of, err := client.New(manager.GetConfig(), client.Options{
		Scheme: scheme, Mapper: manager.GetRESTMapper(), HTTPClient: manager.GetHTTPClient(),
		Cache: &client.CacheOptions{Reader: parents},
	})
	if err != nil {
		return nil, fmt.Errorf("make client: %w", err)
	}
	return &reconciler{client: manager.GetClient(), parents: of, size: size}, nil
}

// Reconcile is controller-runtime's entry: one App, by name.
func (r *reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	var parent app.App
	if err := r.parents.Get(ctx, request.NamespacedName, &parent); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if !parent.DeletionTimestamp.IsZero() {
		return reconcile.Result{}, nil // the garbage collector takes the children
	}
	if err := r.configMaps(ctx, &parent); err != nil {
		return reconcile.Result{}, err
	}
	service, err := r.service(ctx, &parent)
	if err != nil {
		return reconcile.Result{}, err
	}
	if err := r.deployment(ctx, &parent); err != nil {
		return reconcile.Result{}, err
	}
	return reconcile.Result{}, r.status(ctx, &parent, service.Spec.ClusterIP)
}

// status says the address of the Service.
func (r *reconciler) status(ctx context.Context, parent *app.App, address string) error {
	if parent.Status.ClusterIP == address {
		return nil
	}
	before := new(app.App)
	parent.DeepCopyInto(before)
	parent.Status.ClusterIP = address
	if err := r.parents.Status().Patch(ctx, parent, client.MergeFrom(before)); err != nil {
		return client.IgnoreNotFound(fmt.Errorf("patch status: %w", err))
	}
	return nil
}
