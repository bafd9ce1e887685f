package app

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
)

// Options describe the work.
type Options struct {
	// Workers is the number of parents that are reconciled concurrently. With several kinds, each has its share, but at
	// least one.
	Workers int
	// Kinds is the number of parent kinds.
	Kinds int
	// Size is the size of the ConfigMap's bulk, in bytes.
	Size int
	// Patch is what Apps patch instead of having children; empty: they have children.
	Patch Patch
}

// RunOperator runs the operator that Kanon is compared with until ctx ends. It does the same work, handwritten in Go with
// controller-runtime as a good author would: types are Go structs, built-in kinds are sent as protobuf, reads come from
// caches, writes use CreateOrUpdate, and the workers share the queue. Neither the client nor the queue has a noticeable
// rate limit.
func RunOperator(ctx context.Context, config *rest.Config, o Options) error {
	scheme, err := Scheme(0)
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
	for kind := range Kind(o.Kinds) {
		if err := setUp(manager, kind, o); err != nil {
			return fmt.Errorf("set up the controller of %s: %w", kind, err)
		}
	}
	return manager.Start(ctx)
}

// setUp adds the controller of a kind. It does what For and Owns of the builder do. But all kinds share a Go type, so
// each has its own scheme and its own cache. Children share one cache.
func setUp(manager ctrl.Manager, kind Kind, o Options) error {
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
		// The controller's own status writes do not enqueue the parent.
		WatchesRawSource(source.Kind(parents, &App{}, &handler.TypedEnqueueRequestForObject[*App]{},
			predicate.TypedGenerationChangedPredicate[*App]{})).
		WatchesRawSource(source.Kind(manager.GetCache(), &corev1.ConfigMap{},
			handler.TypedEnqueueRequestForOwner[*corev1.ConfigMap](scheme, mapper, &App{}, handler.OnlyControllerOwner()))).
		WatchesRawSource(source.Kind(manager.GetCache(), &corev1.Service{},
			handler.TypedEnqueueRequestForOwner[*corev1.Service](scheme, mapper, &App{}, handler.OnlyControllerOwner()))).
		WatchesRawSource(source.Kind(manager.GetCache(), &appsv1.Deployment{},
			handler.TypedEnqueueRequestForOwner[*appsv1.Deployment](scheme, mapper, &App{}, handler.OnlyControllerOwner()))).
		WithOptions(controller.Options{MaxConcurrentReconciles: max(1, o.Workers/o.Kinds)}).
		Complete(r)
}

// parentsOf is the cache of a kind's parents, and the scheme in which the Go type stands for that kind.
func parentsOf(manager ctrl.Manager, kind Kind) (cache.Cache, *runtime.Scheme, error) {
	if kind == 0 {
		return manager.GetCache(), manager.GetScheme(), nil
	}
	scheme, err := Scheme(kind)
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

// reconciler reconciles Apps with children.
type reconciler struct {
	client  client.Client // for children
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

// Reconcile implements reconcile.Reconciler.
func (r *reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	var parent App
	if err := r.parents.Get(ctx, request.NamespacedName, &parent); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if !parent.DeletionTimestamp.IsZero() {
		return reconcile.Result{}, nil // the garbage collector deletes the children
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

// status writes the address of the Service.
func (r *reconciler) status(ctx context.Context, parent *App, address string) error {
	if parent.Status.ClusterIP == address {
		return nil
	}
	before := new(App)
	parent.DeepCopyInto(before)
	parent.Status.ClusterIP = address
	if err := r.parents.Status().Patch(ctx, parent, client.MergeFrom(before)); err != nil {
		return client.IgnoreNotFound(fmt.Errorf("patch status: %w", err))
	}
	return nil
}
