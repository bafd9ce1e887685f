// Package foo is examples/foo in Go.
package foo

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// +kubebuilder:object:generate=true
// +groupName=samplecontroller.k8s.io

// FooSpec is what a Foo asks for.
type FooSpec struct {
	DeploymentName string `json:"deploymentName"`
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=10
	Replicas int32 `json:"replicas"`
}

// FooStatus is what a Foo reports.
type FooStatus struct {
	AvailableReplicas int32 `json:"availableReplicas"`
}

// Foo becomes a Deployment.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
type Foo struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   FooSpec   `json:"spec"`
	Status FooStatus `json:"status,omitempty"`
}

// FooList lists Foos.
//
// +kubebuilder:object:root=true
type FooList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Foo `json:"items"`
}

// AddToScheme registers the kind.
func AddToScheme(scheme *runtime.Scheme) error {
	version := schema.GroupVersion{Group: "samplecontroller.k8s.io", Version: "v1alpha1"}
	scheme.AddKnownTypes(version, &Foo{}, &FooList{})
	metav1.AddToGroupVersion(scheme, version)
	return nil
}
