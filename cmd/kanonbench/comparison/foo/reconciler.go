package foo

import (
	"context"
	"errors"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
)

// Reconciler keeps the Deployment of each Foo.
type Reconciler struct {
	client.Client
	Events events.EventRecorder
}

// Reconcile brings the Deployment of one Foo up to date.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	var foo Foo
	if err := r.Get(ctx, req.NamespacedName, &foo); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !foo.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, nil
	}
	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: foo.Namespace, Name: foo.Spec.DeploymentName}}
	result, err := controllerutil.CreateOrUpdate(ctx, r.Client, deployment, func() error {
		return r.render(&foo, deployment)
	})
	if errors.Is(err, errTaken) {
		r.Events.Eventf(&foo, deployment, corev1.EventTypeWarning, "ErrResourceExists", "Sync",
			"Deployment %s already exists and is not managed by Foo", deployment.Name)
		return ctrl.Result{}, fmt.Errorf("deployment %s: %w", deployment.Name, err)
	}
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("apply deployment: %w", err)
	}
	if result == controllerutil.OperationResultCreated {
		r.Events.Eventf(&foo, deployment, corev1.EventTypeNormal, "Synced", "Sync", "Foo synced successfully")
	}
	if foo.Status.AvailableReplicas == deployment.Status.AvailableReplicas {
		return ctrl.Result{}, nil
	}
	foo.Status.AvailableReplicas = deployment.Status.AvailableReplicas
	if err := r.Status().Update(ctx, &foo); err != nil {
		return ctrl.Result{}, fmt.Errorf("update status: %w", err)
	}
	return ctrl.Result{}, nil
}

var errTaken = errors.New("exists and is not managed by this Foo")

// render sets the fields of the Deployment that belong to the Foo, and leaves the others as they are.
func (r *Reconciler) render(foo *Foo, deployment *appsv1.Deployment) error {
	if !deployment.CreationTimestamp.IsZero() && !metav1.IsControlledBy(deployment, foo) {
		return errTaken
	}
	labels := map[string]string{"app": "nginx", "controller": foo.Name}
	deployment.Spec.Replicas = &foo.Spec.Replicas
	if deployment.Spec.Selector == nil {
		deployment.Spec.Selector = &metav1.LabelSelector{MatchLabels: labels}
	}
	deployment.Spec.Template.Labels = labels
	if len(deployment.Spec.Template.Spec.Containers) == 0 {
		deployment.Spec.Template.Spec.Containers = make([]corev1.Container, 1)
	}
	container := &deployment.Spec.Template.Spec.Containers[0]
	container.Name, container.Image = "nginx", "nginx:latest"
	return controllerutil.SetControllerReference(foo, deployment, r.Scheme())
}

// SetupWithManager watches Foos and their Deployments.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		For(&Foo{}).
		Owns(&appsv1.Deployment{}).
		Complete(r)
}
