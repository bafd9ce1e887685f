package manifests

import (
	"fmt"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Defaults fill fields in as the API server does when an object is written, by
// the schemas of CustomResourceDefinitions.
type Defaults map[schema.GroupVersionKind]*structuralschema.Structural

// NewDefaults reads definitions. The error names the one that an API server would
// not take.
func NewDefaults(crds []*unstructured.Unstructured) (Defaults, error) {
	d := make(Defaults)
	for _, object := range crds {
		var crd apiextensionsv1.CustomResourceDefinition
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &crd); err != nil {
			return nil, fmt.Errorf("CustomResourceDefinition %s: %w", object.GetName(), err)
		}
		for _, version := range crd.Spec.Versions {
			if version.Schema == nil || version.Schema.OpenAPIV3Schema == nil {
				continue
			}
			structural, err := structuralOf(version.Schema.OpenAPIV3Schema)
			if err != nil {
				return nil, fmt.Errorf("CustomResourceDefinition %s, version %s: %w", object.GetName(), version.Name, err)
			}
			d[schema.GroupVersionKind{Group: crd.Spec.Group, Version: version.Name, Kind: crd.Spec.Names.Kind}] = structural
		}
	}
	return d, nil
}

func structuralOf(props *apiextensionsv1.JSONSchemaProps) (*structuralschema.Structural, error) {
	var internal apiextensions.JSONSchemaProps
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(props, &internal, nil); err != nil {
		return nil, fmt.Errorf("read its schema: %w", err)
	}
	structural, err := structuralschema.NewStructural(&internal)
	if err != nil {
		return nil, fmt.Errorf("read its schema: %w", err)
	}
	return structural, nil
}

// Fill sets what the object leaves out and its kind has a default for. An object
// of a kind that is not known stays as it is.
func (d Defaults) Fill(object *unstructured.Unstructured) {
	if structural := d[object.GroupVersionKind()]; structural != nil {
		defaulting.PruneNonNullableNullsWithoutDefaults(object.Object, structural)
		defaulting.Default(object.Object, structural)
	}
}
