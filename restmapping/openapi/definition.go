package openapi

import (
	_ "embed" // objectmeta.json
	"encoding/json"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// metaJSON has the components of metadata, as Kubernetes publishes them: a CustomResourceDefinition does not repeat
// them.
//
//go:embed objectmeta.json
var metaJSON []byte

// errNoVersion reports that a definition has no served version.
var errNoVersion = errors.New("it has no spec.group, no spec.names.kind or no version that is served")

type definition struct {
	Spec struct {
		Group string `json:"group"`
		Names struct {
			Kind string `json:"kind"`
		} `json:"names"`
		PreserveUnknown bool `json:"preserveUnknownFields"`
		Versions        []struct {
			Name   string `json:"name"`
			Served bool   `json:"served"`
			Schema struct {
				Schema *jsonSchema `json:"openAPIV3Schema"`
			} `json:"schema"`
		} `json:"versions"`
	} `json:"spec"`
}

// FromCRD reads the schemas of a CustomResourceDefinition, one for each served version. A version without a schema has
// none. The error reports that the definition cannot be read.
func FromCRD(crd *unstructured.Unstructured) (Kinds, error) { return new(Pool).FromCRD(crd) }

// FromCRD is FromCRD with a Pool that shares the schemas.
func (p *Pool) FromCRD(crd *unstructured.Unstructured) (Kinds, error) {
	text, err := json.Marshal(crd.Object)
	if err != nil {
		return nil, fmt.Errorf("encode CustomResourceDefinition %s: %w", crd.GetName(), err)
	}
	var d definition
	if err := json.Unmarshal(text, &d); err != nil {
		return nil, fmt.Errorf("read CustomResourceDefinition %s: %w", crd.GetName(), err)
	}
	components, err := readDocument(metaJSON)
	if err != nil {
		return nil, fmt.Errorf("read the schema of metadata: %w", err)
	}
	b := newBuilder(components, p)
	kinds, served := make(Kinds), false
	for _, version := range d.Spec.Versions {
		if !version.Served || version.Name == "" || d.Spec.Group == "" || d.Spec.Names.Kind == "" {
			continue
		}
		served = true
		s := version.Schema.Schema
		if s == nil {
			continue
		}
		s.PreserveUnknown = s.PreserveUnknown || d.Spec.PreserveUnknown
		gvk := schema.GroupVersionKind{Group: d.Spec.Group, Version: version.Name, Kind: d.Spec.Names.Kind}
		sum := sumOf(s)
		kinds[gvk] = b.kind(s, place{name: gvk.GroupVersion().String() + "." + gvk.Kind, mark: markOf(sum[:])})
	}
	if !served {
		return nil, fmt.Errorf("read CustomResourceDefinition %s: %w", crd.GetName(), errNoVersion)
	}
	p.put(b.fresh)
	return kinds, nil
}
