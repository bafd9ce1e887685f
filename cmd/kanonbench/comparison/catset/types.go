// Package catset is examples/catset in Go.
package catset

import (
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// +kubebuilder:object:generate=true
// +groupName=example.com

// CatSetSpec is what a CatSet asks for.
type CatSetSpec struct {
	Image string `json:"image"`
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=50
	Replicas int32 `json:"replicas,omitempty"`
	// +kubebuilder:default="1Gi"
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="storage cannot change"
	Storage resource.Quantity `json:"storage,omitempty"`
}

// CatSetStatus is what a CatSet reports.
type CatSetStatus struct {
	ReadyPods int32 `json:"readyPods"`
}

// CatSet is a StatefulSet by hand.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name=Replicas,type=integer,JSONPath=.spec.replicas
// +kubebuilder:printcolumn:name="Ready Pods",type=integer,JSONPath=.status.readyPods
type CatSet struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   CatSetSpec   `json:"spec"`
	Status CatSetStatus `json:"status,omitempty"`
}

// CatSetList lists CatSets.
//
// +kubebuilder:object:root=true
type CatSetList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []CatSet `json:"items"`
}

// AddToScheme registers the kind.
func AddToScheme(scheme *runtime.Scheme) error {
	version := schema.GroupVersion{Group: "example.com", Version: "v1"}
	scheme.AddKnownTypes(version, &CatSet{}, &CatSetList{})
	metav1.AddToGroupVersion(scheme, version)
	return nil
}
