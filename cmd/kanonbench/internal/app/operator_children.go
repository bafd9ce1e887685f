package app

import (
	"context"
	"fmt"
	"maps"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
)

// configMaps writes the ConfigMap and any extra ones.
func (r *reconciler) configMaps(ctx context.Context, parent *App) error {
	names := []string{parent.Name}
	for i := range parent.Spec.Extra {
		names = append(names, ExtraName(parent.Name, i))
	}
	for i, name := range names {
		size := r.size
		if i > 0 {
			size = 0
		}
		object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: parent.Namespace, Name: name}}
		err := r.write(ctx, parent, object, func() {
			if object.Data == nil {
				object.Data = make(map[string]string, 2)
			}
			maps.Copy(object.Data, Data(parent.Spec.Revision, size))
		})
		if err != nil {
			return fmt.Errorf("write ConfigMap %s: %w", name, err)
		}
	}
	return nil
}

func (r *reconciler) service(ctx context.Context, parent *App) (*corev1.Service, error) {
	object := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: parent.Namespace, Name: parent.Name}}
	err := r.write(ctx, parent, object, func() {
		object.Spec.Selector = Labels(parent.Name)
		object.Spec.Ports = []corev1.ServicePort{{
			Name: PortName, Protocol: corev1.ProtocolTCP, Port: Port, TargetPort: intstr.FromInt32(TargetPort),
		}}
	})
	if err != nil {
		return nil, fmt.Errorf("write Service: %w", err)
	}
	return object, nil
}

// deployment sets only its own fields, so that defaults of the API server are no difference.
func (r *reconciler) deployment(ctx context.Context, parent *App) error {
	object := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: parent.Namespace, Name: parent.Name}}
	err := r.write(ctx, parent, object, func() {
		object.Spec.Replicas = new(int32(Replicas))
		object.Spec.Selector = &metav1.LabelSelector{MatchLabels: Labels(parent.Name)}
		template := &object.Spec.Template
		setLabels(&template.Labels, parent.Name)
		if len(template.Spec.Containers) != 1 {
			template.Spec.Containers = make([]corev1.Container, 1)
		}
		container := &template.Spec.Containers[0]
		container.Name = Container
		container.Image = Image(parent.Spec.Revision)
		container.Ports = []corev1.ContainerPort{{
			Name: PortName, ContainerPort: TargetPort, Protocol: corev1.ProtocolTCP,
		}}
		container.EnvFrom = []corev1.EnvFromSource{{ConfigMapRef: &corev1.ConfigMapEnvSource{
			LocalObjectReference: corev1.LocalObjectReference{Name: parent.Name},
		}}}
	})
	if err != nil {
		return fmt.Errorf("write Deployment: %w", err)
	}
	return nil
}

// write creates or updates a child: its labels, its owner and the fields that set sets.
func (r *reconciler) write(ctx context.Context, parent *App, child client.Object, set func()) error {
	_, err := controllerutil.CreateOrUpdate(ctx, r.client, child, func() error {
		labels := child.GetLabels()
		setLabels(&labels, parent.Name)
		child.SetLabels(labels)
		set()
		return controllerutil.SetControllerReference(parent, child, r.parents.Scheme())
	})
	return err
}

// setLabels adds the labels of a parent's children to existing ones.
func setLabels(labels *map[string]string, name string) {
	if *labels == nil {
		*labels = make(map[string]string, 1)
	}
	maps.Copy(*labels, Labels(name))
}
