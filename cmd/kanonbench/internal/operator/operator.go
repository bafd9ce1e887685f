package operator

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"kanon.dev/kanon/cmd/kanonbench/internal/app"
)

// Run runs the operator until ctx ends.
func Run(ctx context.Context, config *rest.Config, workers int) error {
	scheme, err := app.Scheme()
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
	err = ctrl.NewControllerManagedBy(manager).
		// Its own writes of the status are no reason to look again.
		For(&app.App{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Owns(&corev1.ConfigMap{}).
		Owns(&corev1.Service{}).
		Owns(&appsv1.Deployment{}).
		WithOptions(controller.Options{MaxConcurrentReconciles: workers}).
		Complete(&reconciler{client: manager.GetClient()})
	if err != nil {
		return fmt.Errorf("make controller: %w", err)
	}
	return manager.Start(ctx)
}

// reconciler brings the children of one App up to date.
type reconciler struct{ client client.Client }

// Reconcile is controller-runtime's entry: one App, by name.
func (r *reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	var parent app.App
	if err := r.client.Get(ctx, request.NamespacedName, &parent); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !parent.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, nil // the garbage collector takes the children
	}
	if err := r.configMaps(ctx, &parent); err != nil {
		return ctrl.Result{}, err
	}
	service, err := r.service(ctx, &parent)
	if err != nil {
		return ctrl.Result{}, err
	}
	if err := r.deployment(ctx, &parent); err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{}, r.status(ctx, &parent, service.Spec.ClusterIP)
}

// status says the address of the Service.
func (r *reconciler) status(ctx context.Context, parent *app.App, address string) error {
	if parent.Status.ClusterIP == address {
		return nil
	}
	before := new(app.App)
	parent.DeepCopyInto(before)
	parent.Status.ClusterIP = address
	if err := r.client.Status().Patch(ctx, parent, client.MergeFrom(before)); err != nil {
		return client.IgnoreNotFound(fmt.Errorf("patch status: %w", err))
	}
	return nil
}
