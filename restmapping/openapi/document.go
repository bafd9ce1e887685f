package openapi

import (
	"encoding/json"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Kinds are the schemas of whole objects, by kind.
type Kinds map[schema.GroupVersionKind]*Schema

// Schema returns the schema of a kind; nil if there is none.
func (k Kinds) Schema(gvk schema.GroupVersionKind) *Schema { return k[gvk] }

// Schemas returns the schemas of kinds, from memory.
type Schemas interface {
	// Schema is the schema of whole objects of a kind, with apiVersion, kind and metadata; nil if none is known.
	Schema(gvk schema.GroupVersionKind) *Schema
}

// Layers are several Schemas. The first that knows a kind decides.
type Layers []Schemas

// Schema implements Schemas.
func (l Layers) Schema(gvk schema.GroupVersionKind) *Schema {
	for _, layer := range l {
		if s := layer.Schema(gvk); s != nil {
			return s
		}
	}
	return nil
}

// errNoComponents reports that a document has no schemas.
var errNoComponents = errors.New("it has no components.schemas")

// FromDocument reads the OpenAPI v3 document of a group and version: an API server's answer to GET
// /openapi/v3/apis/GROUP/VERSION. The result has only kinds whose objects have metadata of their own, and so no lists.
func FromDocument(data []byte) (Kinds, error) { return new(Pool).FromDocument(data) }

// FromDocument is FromDocument with a Pool that shares the schemas.
func (p *Pool) FromDocument(data []byte) (Kinds, error) {
	components, err := readDocument(data)
	if err != nil {
		return nil, err
	}
	b := newBuilder(components, p)
	kinds := make(Kinds)
	for name, s := range components {
		for _, kind := range s.Kinds {
			if isObject(s) {
				kinds[kind.gvk()] = b.kind(s, b.kindPlace(kind.gvk(), name))
			}
		}
	}
	p.put(b.fresh)
	return kinds, nil
}

func readDocument(data []byte) (map[string]*jsonSchema, error) {
	var document struct {
		Components struct {
			Schemas map[string]*jsonSchema `json:"schemas"`
		} `json:"components"`
	}
	if err := json.Unmarshal(data, &document); err != nil {
		return nil, fmt.Errorf("decode the OpenAPI document: %w", err)
	}
	components := document.Components.Schemas
	if components == nil {
		return nil, fmt.Errorf("decode the OpenAPI document: %w", errNoComponents)
	}
	for name, s := range components {
		if s == nil {
			delete(components, name)
		}
	}
	return components, nil
}

// isObject reports whether a component describes stored objects: it has the metadata of an object, not of a list.
func isObject(s *jsonSchema) bool {
	metadata := s.Properties["metadata"]
	return metadata != nil && metadata.refersTo() == objectMeta
}

func (b *builder) kindPlace(gvk schema.GroupVersionKind, component string) place {
	return place{name: gvk.GroupVersion().String() + "." + gvk.Kind, mark: b.mark(component), native: isNative(component)}
}
