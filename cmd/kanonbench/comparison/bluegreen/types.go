// Package bluegreen is examples/blue-green in Go.
package bluegreen

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// +kubebuilder:object:generate=true
// +groupName=example.com

// BlueGreenSpec is what a BlueGreen asks for.
type BlueGreenSpec struct {
	Image string `json:"image"`
	// +kubebuilder:default=2
	// +kubebuilder:validation:Minimum=1
	Replicas int32 `json:"replicas,omitempty"`
	// +kubebuilder:default=8080
	Port int32 `json:"port,omitempty"`
}

// BlueGreenStatus is what a BlueGreen serves.
type BlueGreenStatus struct {
	Active string `json:"active,omitempty"`
	Image  string `json:"image,omitempty"`
}

// BlueGreen serves one image from Pods of one color.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name=Active,type=string,JSONPath=.status.active
// +kubebuilder:printcolumn:name=Image,type=string,JSONPath=.status.image
type BlueGreen struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   BlueGreenSpec   `json:"spec"`
	Status BlueGreenStatus `json:"status,omitempty"`
}

// BlueGreenList lists BlueGreens.
//
// +kubebuilder:object:root=true
type BlueGreenList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []BlueGreen `json:"items"`
}

// AddToScheme registers the kind.
func AddToScheme(scheme *runtime.Scheme) error {
	version := schema.GroupVersion{Group: "example.com", Version: "v1"}
	scheme.AddKnownTypes(version, &BlueGreen{}, &BlueGreenList{})
	metav1.AddToGroupVersion(scheme, version)
	return nil
}
