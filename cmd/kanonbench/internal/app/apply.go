package app

import (
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	appsv1 "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1 "k8s.io/client-go/applyconfigurations/core/v1"
	metav1 "k8s.io/client-go/applyconfigurations/meta/v1"
)

// Children are the children of a parent as apply configurations.
type Children struct {
	ConfigMaps []*corev1.ConfigMapApplyConfiguration
	Service    *corev1.ServiceApplyConfiguration
	Deployment *appsv1.DeploymentApplyConfiguration
}

// Children makes the children of this parent, which is of the given kind. size is the size of the ConfigMap's bulk.
func (a *App) Children(kind Kind, size int) Children {
	owner := owner(kind, a.Name, a.UID)
	c := Children{
		ConfigMaps: []*corev1.ConfigMapApplyConfiguration{
			corev1.ConfigMap(a.Name, a.Namespace).WithLabels(Labels(a.Name)).WithOwnerReferences(owner).WithData(Data(a.Spec.Revision, size)),
		},
		Service: corev1.Service(a.Name, a.Namespace).WithLabels(Labels(a.Name)).WithOwnerReferences(owner).
			WithSpec(corev1.ServiceSpec().WithSelector(Labels(a.Name)).
				WithPorts(corev1.ServicePort().WithName(PortName).WithPort(Port).WithTargetPort(intstr.FromInt32(TargetPort)))),
		Deployment: appsv1.Deployment(a.Name, a.Namespace).WithLabels(Labels(a.Name)).WithOwnerReferences(owner).
			WithSpec(appsv1.DeploymentSpec().WithReplicas(Replicas).
				WithSelector(metav1.LabelSelector().WithMatchLabels(Labels(a.Name))).
				WithTemplate(corev1.PodTemplateSpec().WithLabels(Labels(a.Name)).WithSpec(podSpec(a)))),
	}
	for i := range a.Spec.Extra {
		c.ConfigMaps = append(c.ConfigMaps, corev1.ConfigMap(ExtraName(a.Name, i), a.Namespace).
			WithLabels(Labels(a.Name)).WithOwnerReferences(owner).WithData(Data(a.Spec.Revision, 0)))
	}
	return c
}

func podSpec(a *App) *corev1.PodSpecApplyConfiguration {
	return corev1.PodSpec().WithContainers(corev1.Container().WithName(Container).WithImage(Image(a.Spec.Revision)).
		WithPorts(corev1.ContainerPort().WithName(PortName).WithContainerPort(TargetPort)).
		WithEnvFrom(corev1.EnvFromSource().WithConfigMapRef(corev1.ConfigMapEnvSource().WithName(a.Name))))
}

func owner(kind Kind, name string, uid types.UID) *metav1.OwnerReferenceApplyConfiguration {
	return metav1.OwnerReference().WithAPIVersion(GroupVersion().String()).WithKind(kind.String()).
		WithName(name).WithUID(uid).WithController(true).WithBlockOwnerDeletion(true)
}
