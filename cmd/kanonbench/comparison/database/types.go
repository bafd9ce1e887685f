// Package database is examples/database in Go.
package database

import (
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// +kubebuilder:object:generate=true
// +groupName=example.com

// DatabaseSpec is what a Database asks for.
type DatabaseSpec struct {
	// +kubebuilder:default="17"
	Version string `json:"version,omitempty"`
	// +kubebuilder:default="1Gi"
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="storage cannot change"
	Storage resource.Quantity `json:"storage,omitempty"`
}

// DatabaseStatus is what a Database reports.
type DatabaseStatus struct {
	Phase  string `json:"phase,omitempty"`
	Host   string `json:"host,omitempty"`
	Secret string `json:"secret,omitempty"`
}

// Database runs PostgreSQL.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=db
// +kubebuilder:printcolumn:name=Phase,type=string,JSONPath=.status.phase
// +kubebuilder:printcolumn:name=Host,type=string,JSONPath=.status.host
type Database struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   DatabaseSpec   `json:"spec"`
	Status DatabaseStatus `json:"status,omitempty"`
}

// DatabaseList lists Databases.
//
// +kubebuilder:object:root=true
type DatabaseList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Database `json:"items"`
}

// AddToScheme registers the kind.
func AddToScheme(scheme *runtime.Scheme) error {
	version := schema.GroupVersion{Group: "example.com", Version: "v1"}
	scheme.AddKnownTypes(version, &Database{}, &DatabaseList{})
	metav1.AddToGroupVersion(scheme, version)
	return nil
}
