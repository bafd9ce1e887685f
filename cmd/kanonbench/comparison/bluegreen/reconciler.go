package bluegreen

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
)

// Reconciler keeps the Deployments and the Service of each BlueGreen.
type Reconciler struct {
	client.Client
	Events events.EventRecorder
}

// Reconcile does one step: the Deployments, the Service of the active color, and the switch.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	var app BlueGreen
	if err := r.Get(ctx, req.NamespacedName, &app); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !app.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, nil
	}
	served, err := r.served(ctx, &app)
	if err != nil {
		return ctrl.Result{}, err
	}
	next := "green"
	if served.Active == "green" {
		next = "blue"
	}
	if _, err := r.applyDeployment(ctx, &app, served.Active, served.Image); err != nil {
		return ctrl.Result{}, err
	}
	if err := r.applyService(ctx, &app, served.Active); err != nil {
		return ctrl.Result{}, err
	}
	if served.Image == app.Spec.Image {
		old := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: app.Namespace, Name: app.Name + "-" + next}}
		if err := r.deleteOwned(ctx, &app, old); err != nil {
			return ctrl.Result{}, err
		}
		return ctrl.Result{}, r.report(ctx, &app, served)
	}
	candidate, err := r.applyDeployment(ctx, &app, next, app.Spec.Image)
	if err != nil {
		return ctrl.Result{}, err
	}
	if isReady(candidate) {
		served = BlueGreenStatus{Active: next, Image: app.Spec.Image}
		r.Events.Eventf(&app, candidate, corev1.EventTypeNormal, "Switched", "Switch", "%s serves %s", next, app.Spec.Image)
	}
	return ctrl.Result{}, r.report(ctx, &app, served)
}

// served is what the status says, or what exists if the status was lost.
func (r *Reconciler) served(ctx context.Context, app *BlueGreen) (BlueGreenStatus, error) {
	if app.Status.Active != "" && app.Status.Image != "" {
		return app.Status, nil
	}
	served := BlueGreenStatus{Active: "blue", Image: app.Spec.Image}
	var service corev1.Service
	if err := r.Get(ctx, client.ObjectKeyFromObject(app), &service); client.IgnoreNotFound(err) != nil {
		return served, fmt.Errorf("get service: %w", err)
	}
	if color := service.Spec.Selector["color"]; color != "" {
		served.Active = color
	}
	var deployment appsv1.Deployment
	err := r.Get(ctx, client.ObjectKey{Namespace: app.Namespace, Name: app.Name + "-" + served.Active}, &deployment)
	switch {
	case apierrors.IsNotFound(err):
		return served, nil
	case err != nil:
		return served, fmt.Errorf("get deployment: %w", err)
	}
	served.Image = deployment.Spec.Template.Spec.Containers[0].Image
	return served, nil
}

func (r *Reconciler) applyDeployment(ctx context.Context, app *BlueGreen, color, image string) (*appsv1.Deployment, error) {
	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: app.Namespace, Name: app.Name + "-" + color}}
	_, err := controllerutil.CreateOrUpdate(ctx, r.Client, deployment, func() error {
		labels := map[string]string{"app": app.Name, "color": color}
		deployment.Labels = labels
		deployment.Spec.Replicas = &app.Spec.Replicas
		if deployment.Spec.Selector == nil {
			deployment.Spec.Selector = &metav1.LabelSelector{MatchLabels: labels}
		}
		deployment.Spec.Template.Labels = labels
		if len(deployment.Spec.Template.Spec.Containers) == 0 {
			deployment.Spec.Template.Spec.Containers = make([]corev1.Container, 1)
		}
		container := &deployment.Spec.Template.Spec.Containers[0]
		container.Name, container.Image = "web", image
		container.Ports = []corev1.ContainerPort{{Name: "http", ContainerPort: app.Spec.Port, Protocol: corev1.ProtocolTCP}}
		return controllerutil.SetControllerReference(app, deployment, r.Scheme())
	})
	if err != nil {
		return nil, fmt.Errorf("apply deployment %s: %w", deployment.Name, err)
	}
	return deployment, nil
}

func (r *Reconciler) applyService(ctx context.Context, app *BlueGreen, color string) error {
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: app.Namespace, Name: app.Name}}
	_, err := controllerutil.CreateOrUpdate(ctx, r.Client, service, func() error {
		service.Spec.Selector = map[string]string{"app": app.Name, "color": color}
		if len(service.Spec.Ports) == 0 {
			service.Spec.Ports = make([]corev1.ServicePort, 1)
		}
		port := &service.Spec.Ports[0]
		port.Name, port.Port, port.TargetPort = "http", 80, intstr.FromString("http")
		return controllerutil.SetControllerReference(app, service, r.Scheme())
	})
	if err != nil {
		return fmt.Errorf("apply service: %w", err)
	}
	return nil
}

func (r *Reconciler) deleteOwned(ctx context.Context, app *BlueGreen, object client.Object) error {
	if err := r.Get(ctx, client.ObjectKeyFromObject(object), object); err != nil {
		return client.IgnoreNotFound(err)
	}
	if !metav1.IsControlledBy(object, app) {
		return nil
	}
	return client.IgnoreNotFound(r.Delete(ctx, object, client.Preconditions{UID: new(object.GetUID())}))
}

func (r *Reconciler) report(ctx context.Context, app *BlueGreen, served BlueGreenStatus) error {
	if app.Status == served {
		return nil
	}
	app.Status = served
	if err := r.Status().Update(ctx, app); err != nil {
		return fmt.Errorf("update status: %w", err)
	}
	return nil
}

func isReady(d *appsv1.Deployment) bool {
	want := *d.Spec.Replicas
	return d.Status.ObservedGeneration >= d.Generation &&
		d.Status.Replicas == want && d.Status.UpdatedReplicas == want && d.Status.AvailableReplicas == want
}

// SetupWithManager watches BlueGreens and what belongs to them.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		For(&BlueGreen{}).
		Owns(&appsv1.Deployment{}).
		Owns(&corev1.Service{}).
		Complete(r)
}
